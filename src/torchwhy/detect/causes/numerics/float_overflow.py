from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import bad_values
from torchwhy.detect.rules.operand_domains import proven
from torchwhy.detect.views.nonfinite.birth_facts import op_name, show
from torchwhy.detect.views.nonfinite.judging import (
    BirthDiagnosis,
    Judgement,
    born,
    findings_by_place,
)
from torchwhy.detect.views.nonfinite.operand_facts import LARGEST, is_formula, output_type
from torchwhy.detect.views.nonfinite.range_facts import name_of_largest, operand_ranges, size_of
from torchwhy.finding import Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

PRODUCTS = frozenset({"prod", "cumprod"})


class RangeLeft(BirthDiagnosis):
    """A result exceeds the largest number of its dtype; `node` is set if the result is a gradient.

    `factors` counts the numbers of the operand that a product multiplies.
    """

    name: str
    size: float | None
    dtype: str
    node: str | None
    factors: int | None
    message = (
        "{prefix}{expression} exceeds the range of {dtype} (largest number {limit:.2g}): "
        "{operand} reached {reached}{samples}"
    )
    advice = (
        "scale {name} down before this operation (normalise, divide, work with logarithms), "
        "or find out what made it grow"
    )

    @property
    def prefix(self) -> str:
        return f"in the backward pass ({self.node}), " if self.node is not None else ""

    @property
    def limit(self) -> float:
        return LARGEST.get(self.dtype, 0.0)

    @property
    def operand(self) -> str:
        if self.factors is None:
            return self.name
        return f"it multiplies {self.factors} numbers of {self.name}, the largest of which"

    @property
    def reached(self) -> str:
        return show(self.size)


class FloatOverflow(Detector):
    """A result exceeded the range of float32 or float64, although every operand was finite."""

    name = "float-overflow"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from bad_values.bounded_state(finding.location, source)
        yield from bad_values.clamped_operands(finding.location, source)


def judge(birth: Birth) -> Judgement | None:
    """Return the overflow that a birth proves, unless the birth violates a more specific rule."""
    violation = proven(birth, FloatOverflow.name)
    if violation is None:
        return None
    is_product = op_name(birth) in PRODUCTS
    diagnosis = RangeLeft(
        at=born(birth),
        name=name_of_largest(birth),
        size=size_of(violation.operand) if violation.operand is not None else None,
        dtype=output_type(birth),
        node=birth.node if is_formula(birth) else None,
        factors=birth.reduced or None if is_product else None,
    )
    return Judgement(diagnosis, operand_ranges(birth))
