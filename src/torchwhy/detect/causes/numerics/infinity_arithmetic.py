from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import data
from torchwhy.detect.rules.operand_domains import proven
from torchwhy.detect.views.nonfinite.birth_facts import op_name, show
from torchwhy.detect.views.nonfinite.judging import (
    BirthDiagnosis,
    Judgement,
    born,
    findings_by_place,
    name_of,
    operand_fact,
)
from torchwhy.detect.views.nonfinite.operand_facts import arguments, is_formula, value_of
from torchwhy.finding import Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.tensors import Operand
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

SIGNS = {"mul": "·", "sub": "-", "add": "+", "div": "/"}
OPERANDS_SHOWN = 3


class NanOfInfinity(BirthDiagnosis):
    """An operation turned an infinite operand into NaN; `values` are its two operands, if both are known."""

    infinite: str
    operation: str
    values: list[float]
    node: str | None
    message = "{prefix}{expression} turns infinity into NaN: {calculation}{samples}"
    advice = (
        "keep the infinity out of this operation: use a large finite number instead of inf in {infinite}, "
        "or set it to 0 with torch.where before this line"
    )

    @property
    def prefix(self) -> str:
        return f"in the backward pass ({self.node}), " if self.node is not None else ""

    @property
    def calculation(self) -> str:
        """Return the calculation in numbers, `0 · -inf`, or the name of the operation."""
        if self.operation in SIGNS and len(self.values) == 2:
            return f"{show(self.values[0])} {SIGNS[self.operation]} {show(self.values[1])}"
        return f"{self.operation} of operands that contain inf"


class InfinityArithmetic(Detector):
    """An infinity, often an intended one, met another infinity or a zero and became NaN."""

    name = "infinity-arithmetic"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:  # noqa: ARG002 - signature of `Detector`
        yield from data.finite_mask(source)


def judge(birth: Birth) -> Judgement | None:
    """Return the infinity that a birth turned into NaN, unless the birth violates a more specific rule."""
    violation = proven(birth, InfinityArithmetic.name)
    if violation is None:
        return None
    values = [value_of(operand) for operand in arguments(birth)[:2]]
    known = [value for value in values if value is not None]
    diagnosis = NanOfInfinity(
        at=born(birth),
        infinite=name_of(violation.operand),
        operation=op_name(birth),
        values=known if len(known) == len(values) else [],
        node=birth.node if is_formula(birth) else None,
    )
    told = [operand for operand in arguments(birth) if not _speaks_for_itself(operand)]
    return Judgement(diagnosis, tuple(operand_fact(birth, one) for one in told[:OPERANDS_SHOWN]))


def _speaks_for_itself(operand: Operand) -> bool:
    """Tell whether an operand is a number that the expression shows, such as `1` or `dim=1`, or one of torch's own."""
    name = operand.name or ""
    return operand.scalar is not None and not any(letter.isalpha() for letter in name)
