from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.views.crash.crash_facts import (
    crashes,
    expression_of,
    finding_of,
    fixes_of,
    idea,
    is_in_loader,
    is_loss,
    is_product,
    is_ragged_last,
    layer_of,
    operand_evidence,
    says,
    size,
    walk_evidence,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash, NamedTensor
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

PATTERNS = (
    r"mat1 and mat2 shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)",
    r"Expected size for first two dimensions of batch2 tensor to be: \[\d+, (\d+)\] but got: \[\d+, (\d+)\]",
    r"einsum\(\): subscript \w+ has size (\d+) for operand \d+ which does not broadcast with .* size (\d+)",
    r"size mismatch, got input \(\d+\), mat \(\d+x(\d+)\), vec \((\d+)\)",
    r"inconsistent tensor size, expected tensor \[(\d+)\] and src \[(\d+)\]",
    r"batch[12] must be a 3D tensor",
    r"(?:mat1|mat2|self|vec|tensor1|tensor2) must be a (?:matrix|vector)",
    r"einsum\(\): the number of subscripts in the equation \((\d+)\) does not match the number of dimensions \((\d+)\)",
)
LETTER = r"einsum\(\): subscript (\w+) has size (\d+) for operand \d+ which does not broadcast with .* size (\d+)"
IN_PRODUCT = r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)"
FACTORS = ("self", "mat1", "mat2", "tensor", "input", "other", "batch1", "batch2", "vec")
FEATURE_LAYERS = ("in_features", "input_size", "normalized_shape", "embed_dim", "in1_features")


class MatmulSizeMismatch(Detector):
    """Two tensors are multiplied as matrices, and their inner sizes differ."""

    name = "matmul-size-mismatch"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if is_in_loader(crash) or is_loss(crash) or _is_in_feature_layer(crash):
                continue
            found = next((match for pattern in PATTERNS if (match := says(crash, pattern))), None)
            if found is None and is_product(crash):
                found = says(crash, IN_PRODUCT)
            if found is None:
                continue
            numbers = [int(number) for number in found.groups() if number]
            if is_ragged_last(crash, *numbers):
                continue
            yield _judge(trace, crash, numbers)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from shapes.resized(finding, source)


def _is_in_feature_layer(crash: Crash) -> bool:
    layer = layer_of(crash)
    return (
        layer is not None
        and any(name in layer.settings for name in FEATURE_LAYERS)
        and "layer_input" in crash.facts
    )


def _judge(trace: Trace, crash: Crash, numbers: list[int]) -> Finding:
    left, right = (*_factors(crash), None, None)[:2]
    what = expression_of(crash)
    message = f"{what} multiplies matrices whose sizes do not meet"
    if left is not None and right is not None:
        message = f"{what} multiplies {left.name} ({size(left)}) by {right.name} ({size(right)})"
        if len(numbers) == 2:
            message += f": {numbers[0]} and {numbers[1]} should be equal"
    fixes = fixes_of(crash, "transpose-operand")
    return finding_of(
        trace,
        crash,
        detector=MatmulSizeMismatch.name,
        message=message,
        evidence=[*_odd_one(fixes), *operand_evidence(crash), *walk_evidence(crash)],
        fixes=fixes or [_advice(crash)],
    )


def _advice(crash: Crash) -> Fix:
    letter = says(crash, LETTER)
    if letter is not None:
        return idea(
            f"the letter `{letter[1]}` of the einsum stands for {letter[2]} in one operand and for {letter[3]} in "
            "another: give them the same size there, or letters of their own"
        )
    return idea("make the last size of the left tensor equal the second last size of the right one")


def _factors(crash: Crash) -> list[NamedTensor]:
    named = [tensor for tensor in crash.operands if tensor.kind != "array"]
    if len(named) >= 2:
        return named
    return [tensor for tensor in crash.inputs if tensor.argument in FACTORS][-2:]


def _odd_one(fixes: list[Fix]) -> list[Evidence]:
    if len(fixes) != 1:
        return []
    return [Evidence(f"of all transpositions only {fixes[0].title} goes through")]
