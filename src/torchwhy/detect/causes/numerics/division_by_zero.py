from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.fixes.values import bounds, guards
from torchwhy.detect.rules.operand_domains import proven
from torchwhy.detect.rules.violations import Violation
from torchwhy.detect.views.nonfinite.judging import (
    BirthDiagnosis,
    Judgement,
    OperandValue,
    born,
    findings_by_place,
    forward_operand,
    name_of,
    operand_fact,
    operand_value,
)
from torchwhy.detect.views.nonfinite.operand_facts import argument, is_formula, node_of
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, Operand
from torchwhy.record.trace import Trace
from torchwhy.source.calls import called
from torchwhy.source.edits import Source
from torchwhy.source.values import expression_of


class ZeroDivisor(BirthDiagnosis):
    """An element of a divisor is 0; `lowest` and `highest` are its smallest and largest element, if they differ."""

    name: str
    divisor: OperandValue
    in_gradient: bool
    of_zero: bool  # The dividend is 0 as well.
    lowest: float | None
    highest: float | None
    is_number: bool  # The divisor is a number of Python, not a tensor.
    message = "{prefix}{expression} divides by zero: {name} was exactly 0{samples}"
    headline = "{prefix}{expression} divides by zero"
    advice = "keep {name} away from 0 before dividing: {how}"

    @property
    def how(self) -> str:
        """Return the ways that exist for a number, or for a tensor."""
        if self.is_number:
            return "skip the case in which it is 0, or bound it with max() at a value that fits its scale"
        return (
            "add a small constant that fits its scale, clamp it, or replace the zeros with "
            "torch.where first"
        )

    @property
    def prefix(self) -> str:
        return "the gradient of " if self.in_gradient else ""

    def evidence(self) -> Iterator[Evidence]:
        yield self.fact(self.divisor)
        if self.lowest is not None and self.highest is not None:
            claim = f"its elements lie between {self.lowest:.6g} and {self.highest:.6g}"
            yield Evidence(claim, step=self.step)


class InnerDivisor(BirthDiagnosis):
    """A function divides by a number that it computes itself, and that is 0."""

    message = "{expression} divides by zero: a divisor that it computes itself was 0{samples}"
    headline = "{expression} divides by zero: a divisor that it computes itself was 0"
    advice = (
        "find out what makes that divisor 0: inputs whose elements are all equal or zero, or weights of zeros; leave "
        "them out, or write the formula out and add a small constant to its divisor"
    )


class ConstantGroup(BirthDiagnosis):
    """A normalisation with `eps=0` divides by the standard deviation of a constant group, which is 0."""

    name: str
    message = "{expression} divides by a variance of zero: {name} is constant there and eps is 0"
    advice = "give the normalisation a positive eps, such as its default 1e-5"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence("eps was 0", value=0.0, step=self.step)


class ZeroWeight(BirthDiagnosis):
    """`weight_norm` divides a weight by its norm, and the weight is zero."""

    name: str
    weight: OperandValue
    message = "weight_norm divides {name} by its norm, which is 0, in {expression}"
    advice = "initialise the weight to something other than zeros before weight_norm, or set only its gain to zero"

    def evidence(self) -> Iterator[Evidence]:
        yield self.fact(self.weight)


class SingularMatrix(BirthDiagnosis):
    """A solver divides by a pivot of a singular matrix, which is 0."""

    name: str
    message = "{expression} inverts a singular matrix: a pivot of {name} is zero"
    advice = "add a small multiple of the identity to {name}, or use torch.linalg.lstsq"


class EqualValues(BirthDiagnosis):
    """The gradient of a decomposition divides by differences of its eigenvalues or singular values."""

    name: str
    values: Literal["eigenvalues", "singular values"]
    function: str  # computes the values alone
    message = (
        "the gradient of {expression} divides by the differences of the {values} of {name}, and two of them were equal"
        "{samples}"
    )
    headline = (
        "the gradient of {expression} divides by a difference of two {values} that were equal"
    )

    @property
    def remedies(self) -> tuple[str, ...]:
        alone = f"if the loss needs only the {self.values}, take `torch.linalg.{self.function}`, which divides by none"
        apart = (
            f"keep them apart: an identity, an orthogonal matrix and one of lower rank have equal {self.values}; "
            f"begin elsewhere, or add small random numbers to {self.name}"
        )
        return (alone, apart)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "the forward value is finite, only the gradient of the vectors is not", step=self.step
        )


class ZeroSingularValue(EqualValues):
    """The gradient of a decomposition divides by its singular values, one of which is 0."""

    message = "the gradient of {expression} divides by the {values} of {name}, and one of them was 0{samples}"
    headline = "the gradient of {expression} divides by one of its {values}, which was 0"


class DivisionByZero(Detector):
    """A number was divided by exactly zero."""

    name = "division-by-zero"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        if isinstance(finding.diagnosis, EqualValues):
            return
        lowest, highest, hides, is_number = 0.0, 0.0, True, False
        if isinstance(finding.diagnosis, ZeroDivisor):
            is_number = finding.diagnosis.is_number
            lowest, highest = finding.diagnosis.lowest or 0.0, finding.diagnosis.highest or 0.0
            hides = not finding.diagnosis.of_zero
        yield from bounds.for_every_use(finding.location, source)
        if is_number:
            yield from guards.for_division_by_number(finding.location, source, hides=hides)
            return
        yield from guards.for_division(
            finding.location, source, lowest=lowest, highest=highest, hides=hides
        )
        if isinstance(finding.diagnosis, ConstantGroup):
            yield from shapes.eps_where_made(source)


def judge(birth: Birth) -> Judgement | None:
    """Return the division by zero that a birth proves, or None."""
    violation = proven(birth, DivisionByZero.name)
    if violation is None:
        return None
    first = argument(birth, 0)
    match violation.row.case:
        case "variance":
            name = name_of(first, otherwise="its input")
            return Judgement(ConstantGroup(at=born(birth), name=name))
        case "length":
            diagnosis = ZeroWeight(
                at=born(birth),
                name=name_of(first, otherwise="the weight"),
                weight=operand_value(first),
            )
            return Judgement(diagnosis)
        case "repeated":
            return Judgement(_of_decomposition(birth, violation))
        case "matrix":
            name = name_of(first, otherwise="its matrix")
            return Judgement(
                SingularMatrix(at=born(birth), name=name),
                (operand_fact(birth, first),),
            )
    if _is_computed_inside(birth, violation.operand):
        return Judgement(InnerDivisor(at=born(birth)))
    return Judgement(_zero_divisor(birth, violation))


def _is_computed_inside(birth: Birth, divisor: Operand | None) -> bool:
    """Tell whether the very call that divides has made its divisor by another operation.

    A library that divides in Python has a name for its divisor.
    """
    if divisor is None or divisor.origin != "operation" or is_formula(birth):
        return False
    if birth.inside is not None:
        return False
    is_same_place = divisor.origin_location == birth.location is not None
    return is_same_place and called(expression_of(_text(birth))) != ""


def _text(birth: Birth) -> str:
    return (birth.location.expression or "") if birth.location is not None else ""


def _of_decomposition(birth: Birth, violation: Violation) -> EqualValues:
    """Return which numbers of a decomposition its gradient divides by: a table of differences, or the numbers."""
    facts = violation.operand.tensor if violation.operand is not None else None
    shape = facts.shape if facts is not None else []
    is_table = len(shape) > 1 and shape[-1] == shape[-2] > 1
    is_svd = node_of(birth) == "LinalgSvdBackward"
    functions = {"LinalgSvdBackward": "svdvals", "LinalgEighBackward": "eigvalsh"}
    kind = EqualValues if is_table or not is_svd else ZeroSingularValue
    return kind(
        at=born(birth),
        name=forward_operand(birth),
        values="singular values" if is_svd else "eigenvalues",
        function=functions.get(node_of(birth) or "", "eigvals"),
    )


def _zero_divisor(birth: Birth, violation: Violation) -> ZeroDivisor:
    divisor = violation.operand
    facts = divisor.tensor if divisor is not None else None
    lowest, highest = (facts.minimum, facts.maximum) if facts is not None else (None, None)
    is_spread = lowest is not None and highest is not None and lowest < highest
    in_gradient = is_formula(birth)
    return ZeroDivisor(
        at=born(birth),
        name=forward_operand(birth, 1)
        if in_gradient
        else name_of(divisor, otherwise="its divisor"),
        divisor=replace(operand_value(divisor), value=0.0),  # writes -0 as 0
        in_gradient=in_gradient,
        of_zero=birth.value == "nan" and not in_gradient,
        lowest=lowest if is_spread else None,
        highest=highest if is_spread else None,
        is_number=divisor is not None and divisor.scalar is not None and not in_gradient,
    )
