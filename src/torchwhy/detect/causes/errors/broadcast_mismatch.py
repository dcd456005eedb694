from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.views.crash.crash_facts import (
    crashes,
    expression_of,
    finding_of,
    first_line,
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
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

ELEMENTWISE = r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)"
JOINED = r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got size (\d+)"
HIDDEN = r"Expected hidden(?:\[\d\])? size \(\d+, (\d+), \d+\), got \[\d+, (\d+), \d+\]"
PATTERNS = (
    ELEMENTWISE,
    JOINED,
    r"expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) at non-singleton dimension (\d+)",
    r"Index tensor must have the same number of dimensions as",
    r"stack expects each tensor to be equal size",
    r"Tensors must have same number of dimensions: got (\d+) and (\d+)",
    r"shape mismatch: value tensor of shape",
    r"output with shape .* doesn't match the broadcast shape",
    r"shape of the \dD attn_mask is .*, but should be",
    r"[Ee]xpect(?:ed|ing) key_padd(?:ed|ing)_mask",
    r"shape of the mask \[.*\] at index \d+ does not match the shape of the indexed tensor",
    HIDDEN,
    r"[Ee]xpected `?attn_mask`? ",
    r"Shape mismatch: objects cannot be broadcast",
)
MOST_NAMED = 3


class BroadcastMismatch(Detector):
    """Tensors that are combined element by element, or joined, have sizes that cannot be matched."""

    name = "broadcast-mismatch"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            found = next((match for pattern in PATTERNS if (match := says(crash, pattern))), None)
            if found is None or is_in_loader(crash) or is_loss(crash) or is_product(crash):
                continue
            numbers = [int(number) for number in found.groups() if number]
            if is_ragged_last(crash, *numbers[:3]):
                continue
            yield _judge(trace, crash)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from shapes.batch_first_where_made(finding, source)


def _judge(trace: Trace, crash: Crash) -> Finding:
    tensors = crash.operands if len(crash.operands) > 1 else crash.inputs
    shown = ", ".join(f"{tensor.name} ({size(tensor)})" for tensor in tensors[:MOST_NAMED])
    fixes = fixes_of(crash, "unsqueeze-operand")
    return finding_of(
        trace,
        crash,
        detector=BroadcastMismatch.name,
        message=f"{expression_of(crash)} cannot match the sizes of {shown or 'its tensors'}: {_difference(crash)}",
        evidence=[*_source(crash), *operand_evidence(crash), *walk_evidence(crash)],
        fixes=fixes or [_advice(crash)],
    )


def _difference(crash: Crash) -> str:
    """Say in which dimension the tensors part."""
    found = says(crash, ELEMENTWISE)
    if found:
        return f"{found[1]} against {found[2]} in dimension {found[3]}"
    found = says(crash, JOINED)
    if found:
        return (
            f"they are joined along dimension {found[1]}, and elsewhere {found[2]} meets {found[3]}"
        )
    return first_line(crash.message)


def _source(crash: Crash) -> list[Evidence]:
    """Say which of the tensors of the walk is the last that changed its size."""
    if len(crash.walk) < 2:
        return []
    last = crash.walk[-1]
    before = next((one for one in reversed(crash.walk[:-1]) if one.shape != last.shape), None)
    if before is None:
        return []
    return [Evidence(f"{last.what} gave the last of these shapes", location=last.location)]


def _advice(crash: Crash) -> Fix:
    if says(crash, JOINED):
        return idea(
            "bring the tensors to one size before joining them: interpolate to, or crop at, the other's shape"
        )
    layer = layer_of(crash)
    if layer is not None and says(crash, HIDDEN) and layer.settings.get("batch_first") is False:
        return idea(
            f"{layer.path} takes the sequence first and the batch second; if the batch is first, make it with "
            "batch_first=True"
        )
    return idea(
        "bring the tensors to one shape first, or put in a dimension of size 1 with unsqueeze"
    )
