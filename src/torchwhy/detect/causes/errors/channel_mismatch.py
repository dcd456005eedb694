from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.views.crash.crash_facts import (
    at,
    blamed_constructor,
    crashes,
    expression_of,
    favoured,
    finding_of,
    fixes_of,
    is_in_loader,
    layer_input,
    layer_of,
    layer_words,
    operand_evidence,
    says,
    size,
    trials,
    walk_evidence,
    worked_before,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash, Layer
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

# Each with the channels the layer wants and the channels that came.
PATTERNS = (
    r"to have (\d+) channels, but got (\d+) channels instead",
    r"size at dim=1 to match num_features \((\d+)\), but got: (\d+)",
    r"weight of shape \[(\d+)\] and input of shape \[\d+, (\d+)",
)
IMAGE_LAYERS = ("Conv2d", "Conv3d", "ConvTranspose2d", "ConvTranspose3d")
# The same the other way round.
TURNED = (
    r"running_mean should contain (\d+) elements not (\d+)",
    r"weight should contain (\d+) elements not (\d+)",
)


class ChannelMismatch(Detector):
    """A convolution or normalisation layer was made for another number of channels than it is given."""

    name = "channel-mismatch"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            layer, pair = layer_of(crash), channels(crash)
            if layer is None or pair is None or is_in_loader(crash) or is_channels_last(crash):
                continue
            yield _judge(trace, crash, layer, wanted=pair[0], given=pair[1])

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from shapes.resized(finding, source)


def channels(crash: Crash) -> tuple[int, int] | None:
    """Return the channels that the layer wants and those that came."""
    for patterns, turned in ((PATTERNS, False), (TURNED, True)):
        for pattern in patterns:
            found = says(crash, pattern)
            if found:
                first, second = int(found[1]), int(found[2])
                return (second, first) if turned else (first, second)
    return None


def is_channels_last(crash: Crash) -> bool:
    """Tell whether the input is an image that fits after its channels are moved to the front.

    Channels are fewer than rows and columns; a feature map that happens to be as wide as it has channels is no image.
    """
    layer, shape = layer_of(crash), crash.facts.get("layer_input")
    if layer is None or layer.kind not in IMAGE_LAYERS:
        return False
    if isinstance(shape, list) and len(shape) > 2 and shape[-1] >= min(shape[-3:-1]):
        return False
    return any(trial.worked for trial in trials(crash, "permute-input"))


def _judge(trace: Trace, crash: Crash, layer: Layer, *, wanted: int, given: int) -> Finding:
    kinds_of_data = (
        ("add-channel",) if layer.kind in IMAGE_LAYERS else ("permute-input", "add-channel")
    )
    reshaped = [trial for trial in trials(crash, *kinds_of_data) if trial.worked]
    blames_data = bool(reshaped) or worked_before(trace, layer)
    name, tensor = layer_input(crash)
    shape = f" ({size(tensor)})" if tensor is not None else ""
    message = f"{layer.path} takes {wanted} channels and is given {given}: {name}{shape} in {expression_of(crash)}"
    if reshaped:
        message += f"; {reshaped[0].change} fits"
    source = "" if reshaped else _source(crash, given)
    evidence = [
        Evidence(f"{layer_words(layer)}{at(layer.made_at)} wants {wanted} channels{source}")
    ]
    if worked_before(trace, layer):
        evidence.append(
            Evidence(f"{layer.path} has worked in an earlier step, so it is the data that changed")
        )
    else:
        evidence += favoured(crash, layer, reshaped, noun="channels")
    kinds = (*kinds_of_data, "resize-layer") if blames_data else ("resize-layer",)
    return finding_of(
        trace,
        crash,
        detector=ChannelMismatch.name,
        message=message,
        evidence=[*evidence, *walk_evidence(crash), *operand_evidence(crash)],
        location=None if blames_data else blamed_constructor(crash, layer),
        fixes=fixes_of(crash, *kinds),
    )


def _source(crash: Crash, given: int) -> str:
    """Say which station made the channels that came."""
    for station in reversed(crash.walk):
        if len(station.shape) > 1 and station.shape[1] != given:
            break
        made = station
    else:
        return f"; the input itself has {given}" if crash.walk else ""
    return (
        f"; {given} come from {made.what}{at(made.location)}"
        if crash.walk and station is not crash.walk[-1]
        else ""
    )
