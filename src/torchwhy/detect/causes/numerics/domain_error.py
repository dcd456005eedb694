from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import guards
from torchwhy.detect.rules.operand_domains import proven
from torchwhy.detect.rules.violations import Violation
from torchwhy.detect.views.nonfinite.birth_facts import op_name
from torchwhy.detect.views.nonfinite.judging import (
    BirthDiagnosis,
    Judgement,
    OperandValue,
    born,
    findings_by_place,
    forward_operand,
    name_of,
    operand_value,
)
from torchwhy.detect.views.nonfinite.operand_facts import argument, is_formula
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.numbers import Real
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class OutsideDomain(BirthDiagnosis):
    """A function was given a value at which it is not defined."""

    function: str
    operand: OperandValue
    domain: str
    message = (
        "{expression} is not defined at {operand}: {operand.name} was that{samples}, "
        "and must stay in {domain}"
    )
    advice = (
        "clamp {operand.name} to a range a little inside {domain} before it goes into {function}"
    )

    def evidence(self) -> Iterator[Evidence]:
        yield self.fact(self.operand)
        yield Evidence(f"{self.function} is finite in {self.domain}", step=self.step)


class NegativeBase(BirthDiagnosis):
    """A negative number was raised to a power that is not whole."""

    name: str
    base: OperandValue
    exponent: OperandValue
    message = (
        "{expression} raises a negative number to a power that is not whole: "
        "{name} was {base}, the exponent {exponent}{samples}"
    )
    advice = (
        "make {name} positive before taking the power: clamp it to a small positive number, "
        "or use its absolute value"
    )

    def evidence(self) -> Iterator[Evidence]:
        yield self.fact(self.base)
        yield self.fact(self.exponent)


class InfiniteSlope(BirthDiagnosis):
    """The slope of a function is infinite at the edge of its domain, though its value is finite."""

    name: str
    node: str
    operation: str
    value: Real
    message = (
        "{expression} has no finite gradient: its slope is infinite at the edge of its domain, "
        "and {name} was there{samples}"
    )
    advice = "clamp {name} a little inside the open interval before it goes into {expression}"

    def evidence(self) -> Iterator[Evidence]:
        claim = f"the gradient was computed in {self.node} by {self.operation}"
        yield Evidence(claim, value=self.value, step=self.step)


class ExponentGradient(InfiniteSlope):
    """The gradient of a power with respect to its exponent needs the logarithm of its base."""

    message = (
        "{expression} has no finite gradient: the exponent needs the logarithm of the base, "
        "which is not positive, and {name} was there{samples}"
    )


class DomainError(Detector):
    """A function was evaluated where it is not defined, or its gradient where that is infinite."""

    name = "domain-error"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from guards.for_domain(finding.location, source)


def judge(birth: Birth) -> Judgement | None:
    """Return which function left its domain in a birth, or has no slope there, if one did."""
    violation = proven(birth, DomainError.name)
    if violation is None:
        return None
    match violation.row.case:
        case "function":
            return Judgement(_outside(birth, violation))
        case "power":
            return Judgement(_negative_base(birth, violation))
    kind = ExponentGradient if violation.row.case == "exponent" else InfiniteSlope
    diagnosis = kind(
        at=born(birth),
        name=forward_operand(birth),
        node=birth.node or "",
        operation=op_name(birth),
        value=birth.value,
    )
    return Judgement(diagnosis)


def _outside(birth: Birth, violation: Violation) -> OutsideDomain:
    return OutsideDomain(
        at=born(birth),
        function=op_name(birth),
        operand=operand_value(violation.operand),
        domain=str(violation.domain),
    )


def _negative_base(birth: Birth, violation: Violation) -> NegativeBase:
    base, exponent = violation.operand, argument(birth, 1)
    return NegativeBase(
        at=born(birth),
        name=forward_operand(birth) if is_formula(birth) else name_of(base, otherwise="its base"),
        base=operand_value(base),
        exponent=operand_value(exponent),
    )
