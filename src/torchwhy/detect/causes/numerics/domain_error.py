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
from torchwhy.detect.views.nonfinite.rounding import is_rounding
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.numbers import Real
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

# Functions with an infinite slope at 1 and -1, which a cosine or a saturated tanh reaches by rounding.
ENDS_BY_ROUNDING = frozenset(
    {"AcosBackward", "AsinBackward", "AtanhBackward", "AcoshBackward", "ErfinvBackward"}
)


class OutsideDomain(BirthDiagnosis):
    """A function got an operand outside its domain."""

    function: str
    operand: OperandValue
    domain: str
    by_rounding: bool  # The operand is outside by a few units in the last place.
    message = (
        "{expression} is evaluated outside its domain: {operand.name} was {operand}{samples} "
        "and must stay in {domain}"
    )
    headline = "{expression} is evaluated outside its domain"
    advice = "clamp {operand.name} slightly inside {domain} before {function}"

    def evidence(self) -> Iterator[Evidence]:
        yield self.fact(self.operand)
        yield Evidence(f"{self.function} is finite in {self.domain}", step=self.step)


class NegativeBase(BirthDiagnosis):
    """The base of a fractional power was negative."""

    name: str
    base: OperandValue
    exponent: OperandValue
    by_rounding: bool
    message = (
        "{expression} raises a negative number to a fractional power: "
        "{name} was {base}, the exponent {exponent}{samples}"
    )
    headline = "{expression} raises a negative number to a fractional power"
    advice = (
        "make {name} positive before taking the power: clamp it to a small positive number, "
        "or use its absolute value"
    )

    def evidence(self) -> Iterator[Evidence]:
        yield self.fact(self.base)
        yield self.fact(self.exponent)


class InfiniteSlope(BirthDiagnosis):
    """A function has an infinite slope at the edge of its domain, although its value is finite there."""

    name: str
    node: str
    operation: str
    value: Real
    message = (
        "{expression} has no finite gradient: its slope is infinite at the edge of its domain, "
        "and {name} was at that edge{samples}"
    )
    advice = "clamp {name} slightly inside the domain before {expression}"

    def evidence(self) -> Iterator[Evidence]:
        claim = f"the gradient was computed in {self.node} by {self.operation}"
        yield Evidence(claim, value=self.value, step=self.step)


class ExponentGradient(InfiniteSlope):
    """The gradient of a power with respect to its exponent needs the logarithm of its base."""

    message = (
        "{expression} has no finite gradient: the gradient of the exponent needs the logarithm of the base, "
        "and {name} was not positive{samples}"
    )


class DomainError(Detector):
    """A function was evaluated outside its domain, or its gradient where it is infinite."""

    name = "domain-error"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case OutsideDomain(by_rounding=True) | NegativeBase(by_rounding=True):
                hides = False
            case InfiniteSlope(node=node):
                hides = node.rstrip("0123456789") not in ENDS_BY_ROUNDING
            case _:
                hides = True
        yield from guards.for_domain(finding.location, source, hides=hides)


def judge(birth: Birth) -> Judgement | None:
    """Return the function that a birth evaluates outside its domain or where its slope is infinite, or None."""
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
        by_rounding=is_rounding(violation),
    )


def _negative_base(birth: Birth, violation: Violation) -> NegativeBase:
    base, exponent = violation.operand, argument(birth, 1)
    return NegativeBase(
        at=born(birth),
        name=forward_operand(birth) if is_formula(birth) else name_of(base, otherwise="its base"),
        base=operand_value(base),
        exponent=operand_value(exponent),
        by_rounding=is_rounding(violation),
    )
