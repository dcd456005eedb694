from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import data
from torchwhy.detect.views.nonfinite.birth_facts import op_name, show
from torchwhy.detect.views.nonfinite.judging import (
    Verdict,
    expression_of,
    findings_by_place,
    name_of,
    operand_fact,
    samples_of,
)
from torchwhy.detect.views.nonfinite.operand_facts import arguments, is_formula, is_masked, value_of
from torchwhy.finding import Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

INFINITIES = (float("inf"), float("-inf"))
# Clipping and gradient accumulation have detectors of their own.
PHASES = frozenset({"data", "forward", "backward", "update"})


class InfinityArithmetic(Detector):
    """An infinity, often an intended one, met another or a zero, and the result is NaN."""

    name = "infinity-arithmetic"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:  # noqa: ARG002 - the contract's
        yield from data.finite_mask(source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise new NaN made of infinite operands."""
    if birth.fully_infinite_row or birth.phase not in PHASES or is_masked(birth):
        return None
    if birth.kind == "source" or not has_infinity(birth):
        return None
    if birth.kind == "operation" and birth.value != "nan":
        return None
    way = f"in the gradient ({birth.node}), " if is_formula(birth) else ""
    infinite = next(
        (operand for operand in arguments(birth) if value_of(operand) in INFINITIES), None
    )
    facts = tuple(
        operand_fact(birth, operand, value_of(operand)) for operand in arguments(birth)[:3]
    )
    return Verdict(
        f"{way}{expression_of(birth)} makes NaN of infinity: {sum_of(birth)}{samples_of(birth)}",
        facts,
        f"keep the infinity out of this operation: use a large finite number in place of inf in "
        f"{name_of(infinite, otherwise='its operand')}, or put 0 there with torch.where before this line",
    )


def has_infinity(birth: Birth) -> bool:
    """Tell whether an operand is infinite: by the record's word, or because a number in the call is."""
    return birth.kind == "from-infinity" or any(
        value_of(operand) in INFINITIES for operand in arguments(birth)
    )


def sum_of(birth: Birth) -> str:
    """Return the calculation in numbers, `0 · -inf`, as far as the operands at the first bad element are known."""
    signs = {"mul": "·", "sub": "-", "add": "+", "div": "/"}
    values = [value_of(operand) for operand in arguments(birth)[:2]]
    if op_name(birth) in signs and len(values) == 2 and None not in values:
        return f"{show(values[0])} {signs[op_name(birth)]} {show(values[1])}"
    return f"{op_name(birth)} of operands that hold inf"
