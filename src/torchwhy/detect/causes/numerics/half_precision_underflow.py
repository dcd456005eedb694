from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import data, guards
from torchwhy.detect.rules.operand_domains import proven
from torchwhy.detect.views.nonfinite.birth_facts import as_real, op_name, show
from torchwhy.detect.views.nonfinite.judging import (
    BirthDiagnosis,
    Judgement,
    born,
    findings_by_place,
    forward_operand,
    name_of,
)
from torchwhy.detect.views.nonfinite.operand_facts import (
    ROUNDS_TO_ZERO,
    is_formula,
    output_type,
    vanished_constant,
)
from torchwhy.finding import Evidence, Finding, Fix, Label
from torchwhy.record.events import Birth
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class ValueUnderflowed(BirthDiagnosis):
    """An operand is 0 in half precision, but not in float32."""

    name: str
    operand: str
    operation: str
    dtype: str
    in_float32: float | None
    message = (
        "{expression} fails because {name} is 0 in {dtype}{samples}, but not in float32: "
        "there it would be {wide}"
    )
    headline = "{expression} fails because {name} is 0 in {dtype}, but not in float32"
    advice = "compute {expression} in float32, or use an epsilon that {dtype} can represent, such as {epsilon}"

    @property
    def wide(self) -> str:
        return show(self.in_float32)

    @property
    def epsilon(self) -> str:
        return "1e-4" if self.dtype == "float16" else "1e-6"

    def evidence(self) -> Iterator[Evidence]:
        claim = f"{self.operand} was 0 in {self.dtype} when {self.operation} ran"
        label = Label(self.operand, f"was 0 in {self.dtype}")
        yield Evidence(claim, value=0.0, step=self.step, label=label)
        if self.in_float32 is not None:
            value = as_real(self.in_float32)
            yield Evidence(f"computed in float32, it is {self.wide}", value=value, step=self.step)
        limit = ROUNDS_TO_ZERO[self.dtype]
        yield Evidence(f"{self.dtype} rounds magnitudes below {limit:.2g} to 0", value=limit)


class ConstantVanished(ValueUnderflowed):
    """A constant of the expression rounds to 0 in half precision, so it does not prevent the zero."""

    constant: float
    message = (
        "{expression} fails because {name} is 0 in {dtype}{samples}, but not in float32: "
        "the constant {constant:g} rounds to 0"
    )
    headline = (
        "{expression} fails because {name} is 0 in {dtype}: the constant {constant:g} rounds to 0"
    )


class HalfPrecisionUnderflow(Detector):
    """A value or an epsilon became 0 in half precision, and a division or a logarithm then used it."""

    name = "half-precision-underflow"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from data.larger_constant(finding.location, source)
        yield from guards.for_log(finding.location, source)
        yield from data.wider(finding.location, source)


def judge(birth: Birth) -> Judgement | None:
    """Return the operand of a birth that is 0 only because of its dtype, or None."""
    violation = proven(birth, HalfPrecisionUnderflow.name)
    if violation is None or violation.operand is None:
        return None
    operand, constant = violation.operand, vanished_constant(birth)
    diagnosis = ValueUnderflowed(
        at=born(birth),
        name=forward_operand(birth) if is_formula(birth) else name_of(operand),
        operand=name_of(operand),
        operation=op_name(birth),
        dtype=output_type(birth),
        in_float32=None if operand.wider_at_born is None else decode(operand.wider_at_born),
    )
    if constant is not None:
        diagnosis = ConstantVanished(**vars(diagnosis), constant=constant)
    return Judgement(diagnosis)
