from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import data, guards
from torchwhy.detect.views.nonfinite.birth_facts import as_real, op_name, show
from torchwhy.detect.views.nonfinite.judging import (
    Verdict,
    expression_of,
    findings_by_place,
    forward_operand,
    name_of,
    samples_of,
)
from torchwhy.detect.views.nonfinite.operand_facts import (
    ROUNDS_TO_ZERO,
    is_formula,
    is_masked,
    output_type,
    underflowed_operand,
    vanished_constant,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, Operand
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class HalfPrecisionUnderflow(Detector):
    """A value or an epsilon became 0 in half precision, and was divided by or put into a logarithm."""

    name = "half-precision-underflow"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from data.larger_constant(finding, source)
        yield from guards.for_log(finding, source)
        yield from data.wider(finding, source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise a birth whose decisive operand is 0 only because of its type."""
    if birth.kind != "operation" or birth.phase == "update" or is_masked(birth):
        return None
    operand = underflowed_operand(birth)
    if operand is None:
        return None
    dtype = output_type(birth)
    name = forward_operand(birth) if is_formula(birth) else name_of(operand)
    return Verdict(
        f"{expression_of(birth)} fails because {name} is 0 in {dtype} and not in float32: "
        f"{reason_for(birth, operand)}{samples_of(birth)}",
        facts_of(birth, operand),
        f"compute {expression_of(birth)} in float32, or use an epsilon that {dtype} can hold, "
        f"such as {'1e-4' if dtype == 'float16' else '1e-6'}",
    )


def reason_for(birth: Birth, operand: Operand) -> str:
    """Return how it is known: the value in float32, or the constant that vanished."""
    constant = vanished_constant(birth)
    if constant is not None:
        return f"the constant {constant:g} rounds to 0"
    wider = None if operand.wider_at_born is None else decode(operand.wider_at_born)
    return f"there it would be {show(wider)}"


def facts_of(birth: Birth, operand: Operand) -> tuple[Evidence, ...]:
    """Return the zero, the value it should have, and the smallest number of the type."""
    dtype = output_type(birth)
    facts = [
        Evidence(
            f"{name_of(operand)} was 0 in {dtype} when {op_name(birth)} ran",
            value=0.0,
            step=birth.step,
        )
    ]
    if operand.wider_at_born is not None:
        value = decode(operand.wider_at_born)
        facts.append(
            Evidence(
                f"computed in float32 it is {show(value)}", value=as_real(value), step=birth.step
            )
        )
    limit = ROUNDS_TO_ZERO[dtype]
    facts.append(Evidence(f"{dtype} rounds everything below {limit:.2g} to 0", value=limit))
    return tuple(facts)
