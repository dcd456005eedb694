from __future__ import annotations

import itertools
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.views.crash.crash_facts import (
    crashes,
    expression_of,
    finding_of,
    fixes_of,
    idea,
    input_named,
    is_in_loader,
    is_loss,
    is_ragged_last,
    is_without_batch,
    operand_evidence,
    says,
    size,
    sizes,
    trials,
    walk_evidence,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash, NamedTensor, WalkStep
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

PATTERNS = (
    r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)",
    r"multi-target not supported",
    r"Expected target size \[",
    r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)",
    r"target size \(torch\.Size.*different (?:to|from) the input size",
    r"Target size \(torch\.Size.*must be the same as input size",
    r"[Ee]xpected target (?:size|batch|to)",
    r"size mismatch \(got input: \[.*\] ?, target: \[",
    r"input and target (?:batch|shapes|size).*(?:do not match|must|don't match)",
    r"only batches of spatial targets supported",
    r"[Ee]xpected (?:input|target).*(?:to have the same|of the same) (?:size|shape)",
    r"inconsistent (?:target|input) size",
    r"dim (?:mismatch|of input and target)",
)
CURES = (
    "squeeze-target",
    "class-numbers",
    "class-dimension",
    "unsqueeze-target",
    "squeeze-input",
    "flatten-target",
    "swap-arguments",
    "reshape-target",
)


class TargetShapeMismatch(Detector):
    """A loss compares an output with a target of another shape."""

    name = "target-shape-mismatch"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            found = next((match for pattern in PATTERNS if (match := says(crash, pattern))), None)
            if found is None and any(trial.worked for trial in trials(crash, "swap-arguments")):
                found = says(crash, "")
            if (
                found is None
                or not is_loss(crash)
                or is_in_loader(crash)
                or is_without_batch(crash)
            ):
                continue
            if is_ragged_last(crash, *(int(number) for number in found.groups() if number)):
                continue
            yield _judge(trace, crash)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from shapes.arguments_in_order(finding, source)


def _judge(trace: Trace, crash: Crash) -> Finding:
    output, target = input_named(crash, "input", "self"), input_named(crash, "target")
    torn = _torn_apart(crash, target)
    message = f"{expression_of(crash)} compares {_words(output, 'an output')} with {_words(target, 'a target')}"
    if any(trial.worked for trial in trials(crash, "swap-arguments")):
        message += ": the two are in the wrong order"
    evidence = []
    if torn is not None:
        before, after = torn
        message = (
            f"{after.what} turns {before.shape[0]} samples into {after.shape[0]} rows "
            f"({sizes(before.shape)} → {sizes(after.shape)}), so the loss finds {after.shape[0]} outputs for "
            f"{before.shape[0]} targets"
        )
        evidence.append(
            Evidence(f"{before.what} still had one row per sample: {sizes(before.shape)}")
        )
    return finding_of(
        trace,
        crash,
        detector=TargetShapeMismatch.name,
        message=message,
        evidence=[*evidence, *operand_evidence(crash), *walk_evidence(crash)],
        location=torn[1].location if torn is not None else None,
        fixes=[idea("keep the first dimension: `x.flatten(1)` or `x.view(x.size(0), -1)`")]
        if torn
        else _cures(crash, output, target),
    )


def _cures(crash: Crash, output: NamedTensor | None, target: NamedTensor | None) -> list[Fix]:
    tried = fixes_of(crash, *CURES)[:3]
    if tried or output is None or target is None:
        return tried or [idea("give the loss one target for each row of the output")]
    images = min(len(output.shape), len(target.shape)) > 2
    if images and output.shape[0] == target.shape[0] and output.shape[-2:] != target.shape[-2:]:
        there, wanted = sizes(output.shape[-2:]), sizes(target.shape[-2:])
        return [
            idea(
                f"the output is {there} where the target is {wanted}: pad the convolutions so that they keep the "
                "size, or crop or resize one of the two"
            )
        ]
    return [idea("give the loss one target for each row of the output")]


def _words(tensor: NamedTensor | None, otherwise: str) -> str:
    return f"{tensor.name} ({size(tensor)})" if tensor is not None else otherwise


def _torn_apart(crash: Crash, target: NamedTensor | None) -> tuple[WalkStep, WalkStep] | None:
    """Return the stations around the reshape that changed the number of rows; None if there is none."""
    stations = [station for station in crash.walk if station.shape]
    if target is None or not target.shape or not says(crash, PATTERNS[0]):
        return None
    rows = target.shape[0]
    for before, after in itertools.pairwise(stations):
        if before.shape[0] == rows != after.shape[0] and _is_reshape(after.what):
            return before, after
    return None


def _is_reshape(what: str) -> bool:
    return any(word in what for word in ("view", "reshape", "flatten", "permute", "transpose"))
