from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.views.crash.crash_facts import (
    BATCHED_MODEL,
    crashes,
    expression_of,
    finding_of,
    fixes_of,
    idea,
    input_named,
    is_in_loader,
    is_without_batch,
    layer_input,
    layer_of,
    loss_expression,
    operand_evidence,
    says,
    size,
    sizes,
    trials,
    walk_evidence,
)
from torchwhy.finding import Finding
from torchwhy.record.events import Crash, OperandTrial
from torchwhy.record.trace import Trace

PATTERNS = (
    r"expected (\d)D (?:or (\d)D )?input \(got (\d)D input\)",
    r"Expected (\d)D \(unbatched\) or (\d)D \(batched\) input to \w+, but got input of size",
    r"Expected input to be 2D or 3D, got (\d)D",
    r"For unbatched 2-D input, hx (?:and cx )?should also be 2-D but got",
    r"non-empty (\d)D or (\d)D \(batch mode\) tensor expected for input",
    r"Expected (\d)D or (\d)D \(batch mode\) tensor",
)
RANGE = r"Dimension out of range \(expected to be in range of \[-1, 0\], but got 1\)"


class MissingBatchDimension(Detector):
    """A single sample goes where a batch of samples is wanted."""

    name = "missing-batch-dimension"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if is_in_loader(crash):
                continue
            whole = next((one for one in trials(crash, BATCHED_MODEL) if one.worked), None)
            if whole is not None:
                yield _judge_model(trace, crash, whole)
            elif is_without_batch(crash) or _is_one_short(crash):
                yield _judge(trace, crash)


def _is_one_short(crash: Crash) -> bool:
    """Tell whether the message says that the input has too few dimensions, not too many."""
    if says(crash, RANGE):
        return any(len(tensor.shape) == 1 for tensor in (*crash.operands, *crash.inputs))
    found = next((match for pattern in PATTERNS if (match := says(crash, pattern))), None)
    if found is None:
        return False
    shape = crash.facts.get("layer_input")
    wanted = [int(number) for number in found.groups() if number]
    if isinstance(shape, list) and wanted:
        return len(shape) < max(wanted[:2])
    return True


def _judge_model(trace: Trace, crash: Crash, whole: OperandTrial) -> Finding:
    """Return the finding of a model that took one sample for a batch and failed only behind its flattening."""
    name = whole.change.removesuffix(".unsqueeze(0)")
    shape = next((f" ({sizes(one.shape)})" for one in crash.walk if one.what == "input"), "")
    layer = layer_of(crash)
    at_layer = f", {layer.path} raises" if layer is not None else ""
    return finding_of(
        trace,
        crash,
        detector=MissingBatchDimension.name,
        message=f"{name}{shape} is one sample without a batch dimension: its first dimension is taken for the samples"
        f"{at_layer}; as a batch of one it goes through",
        evidence=[*walk_evidence(crash), *operand_evidence(crash)],
        location=whole.location,
        fixes=fixes_of(crash, BATCHED_MODEL),
    )


def _judge(trace: Trace, crash: Crash) -> Finding:
    name, tensor = layer_input(crash)
    loss_input = (
        input_named(crash, "input", "self") if tensor is None or is_without_batch(crash) else None
    )
    if loss_input is not None:
        name, tensor = loss_input.name, loss_input
    elif name == "its input" and crash.operands:
        name, tensor = crash.operands[0].name, crash.operands[0]
    layer = layer_of(crash)
    who = layer.path if layer is not None and "layer_input" in crash.facts else expression_of(crash)
    shape = f" ({size(tensor)})" if tensor is not None else ""
    return finding_of(
        trace,
        crash,
        detector=MissingBatchDimension.name,
        message=f"{name}{shape} is one sample without a batch dimension, and {who} wants a batch",
        evidence=[*operand_evidence(crash), *walk_evidence(crash)],
        location=loss_expression(crash),
        fixes=fixes_of(crash, "add-batch", "batch-of-one")
        or [
            idea(
                f"put the batch dimension in front with {name}.unsqueeze(0), or take the sample from a DataLoader"
            )
        ],
    )
