from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.views.crash.crash_facts import (
    BATCHED_MODEL,
    at,
    blamed_constructor,
    crashes,
    expression_of,
    factors,
    favoured,
    finding_of,
    fixes_of,
    is_in_loader,
    layer_input,
    layer_of,
    layer_words,
    operand_evidence,
    says,
    setting,
    size,
    trials,
    walk_evidence,
    worked_before,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash, Layer
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

PRODUCT = r"mat1 and mat2 shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)"
# Each with the size it was given and the size the layer wants, in this order.
GIVEN_AND_WANTED = (
    PRODUCT,
    r"size mismatch, got input \(\d+\), mat \(\d+x(\d+)\), vec \((\d+)\)",
    r"input has inconsistent input_size: got (\d+) expected (\d+)",
    r"bilinear\(\): input\d size does not match weight size: got (\d+) but expected (\d+)",
)
WANTED_AND_GIVEN = (
    r"input\.size\(-1\) must be equal to input_size\. Expected (\d+), got (\d+)",
    r"normalized_shape=\[(?:\d+, )*(\d+)\].*but got input of size\[(?:\d+, )*(\d+)\]",
    r"expecting embedding dimension of (\d+), but got (\d+)",
)
SIZES = ("in_features", "input_size", "normalized_shape", "embed_dim", "in1_features")


class LinearSizeMismatch(Detector):
    """A layer was made for another number of features than it is given."""

    name = "linear-size-mismatch"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            layer = layer_of(crash)
            pair = _sizes(crash)
            if layer is None or pair is None or is_in_loader(crash) or not _is_over_features(layer):
                continue
            if fixes_of(crash, BATCHED_MODEL):
                continue  # the sizes fit as soon as the one sample is a batch: missing-batch-dimension
            yield _judge(trace, crash, layer, given=pair[0], wanted=pair[1])

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from shapes.resized(finding, source)


def _is_over_features(layer: Layer) -> bool:
    return (
        any(name in layer.settings for name in SIZES)
        or "Attention" in layer.kind
        or "Transformer" in layer.kind
    )


def _sizes(crash: Crash) -> tuple[int, int] | None:
    """Return the size that came and the size that the layer wants."""
    for pattern in GIVEN_AND_WANTED:
        found = says(crash, pattern)
        if found:
            return int(found[1]), int(found[2])
    for pattern in WANTED_AND_GIVEN:
        found = says(crash, pattern)
        if found and found.groups():
            return int(found[2]), int(found[1])
    return None


def _judge(trace: Trace, crash: Crash, layer: Layer, *, given: int, wanted: int) -> Finding:
    reshaped = [
        trial for trial in trials(crash, "flatten-input", "transpose-input") if trial.worked
    ]
    blames_data = bool(reshaped) or worked_before(trace, layer)
    name, tensor = layer_input(crash)
    shape = f" ({size(tensor)})" if tensor is not None else ""
    message = f"{layer.path} takes {wanted} features and is given {given}: {name}{shape} in {expression_of(crash)}"
    if reshaped:
        message += f"; {reshaped[0].change} fits"
    evidence = [Evidence(_odd_one(crash, layer, given=given, wanted=wanted))]
    if worked_before(trace, layer):
        evidence.append(
            Evidence(f"{layer.path} has worked in an earlier step, so it is the data that changed")
        )
    else:
        evidence += favoured(crash, layer, reshaped, noun="features")
    evidence += walk_evidence(crash) + operand_evidence(crash)
    kinds = (
        ("flatten-input", "transpose-input", "resize-layer")
        if blames_data
        else ("resize-layer", "transpose-input")
    )
    return finding_of(
        trace,
        crash,
        detector=LinearSizeMismatch.name,
        message=message,
        evidence=evidence,
        location=None if blames_data else blamed_constructor(crash, layer),
        fixes=fixes_of(crash, *kinds),
    )


def _odd_one(crash: Crash, layer: Layer, *, given: int, wanted: int) -> str:
    """Say where each of the two sizes comes from."""
    words = f"{layer_words(layer)}{at(layer.made_at)} wants {wanted}"
    if setting(layer, "in_features") is None and "in_features" in layer.settings:
        return words
    stations = [station for station in crash.walk if station.shape]
    if stations and stations[-1].shape[-1] == given:
        before = stations[-2].shape if len(stations) > 1 else []
        words += f"; {given}{factors(given, before)} comes from {stations[-1].what}{at(stations[-1].location)}"
    return words
