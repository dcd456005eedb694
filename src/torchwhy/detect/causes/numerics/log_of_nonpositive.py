from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import bounds, guards
from torchwhy.detect.rules.operand_domains import proven
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
from torchwhy.detect.views.nonfinite.operand_facts import is_formula, node_of
from torchwhy.detect.views.nonfinite.origins import is_of_negative_determinant
from torchwhy.detect.views.nonfinite.rounding import is_rounded_difference
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace
from torchwhy.source.calls import called
from torchwhy.source.edits import Source
from torchwhy.source.values import expression_of

DETERMINANTS = ("det",)
# The forward functions of these nodes take the logarithm of their second operand.
OF_SECOND_OPERAND = frozenset({"XlogyBackward", "SpecialXlog1PyBackward"})


class Logarithm(BirthDiagnosis):
    """A logarithm, or its gradient, is not finite at the value of an operand."""

    name: str
    advice = (
        "if {name} comes from a softmax or sigmoid, compute its logarithm from the logits (log_softmax, logsigmoid, "
        "a *_with_logits loss), if it is a sum of exponentials, with logsumexp; else keep it above 0: add a small "
        "constant, or clamp it"
    )


class NonpositiveOperand(Logarithm):
    """The operand of a logarithm is at or below its bound: 0, or -1 for the logarithm of 1 + x (`shifted`)."""

    operand: OperandValue
    shifted: bool
    by_rounding: bool  # The operand is a difference, off by a few units in the last place.
    message = "{expression} takes the logarithm of {what}{operand}: {name} was {operand}{samples}"
    headline = "{expression} takes the logarithm of {what}{operand}"

    @property
    def what(self) -> str:
        return "1 + x at x = " if self.shifted else ""

    def evidence(self) -> Iterator[Evidence]:
        yield self.fact(self.operand)


class NegativeOperand(NonpositiveOperand):
    """The operand of a logarithm is negative, and not by rounding."""

    advice = (
        "no small constant mends a negative number: take the logarithm before what makes {name} negative (a "
        "normalisation, a difference), or make it positive first (`softplus`, `exp`, a square)"
    )


class NegativeDeterminant(NegativeOperand):
    """The operand is the determinant of a matrix, whose sign says nothing about volume."""

    advice = (
        "take the logarithm of the absolute determinant in one step, which does not overflow either: "
        "`torch.linalg.slogdet(…).logabsdet`"
    )


class ZeroDeterminant(NonpositiveOperand):
    """The operand is a determinant that is 0: the matrix is singular, or its determinant is too small for the dtype."""

    advice = (
        "compute the logarithm of the determinant in one step, `torch.logdet` or `torch.linalg.slogdet(…).logabsdet`, "
        "which does not underflow; if the matrix itself is singular, add a small multiple of the identity first"
    )


class NonpositiveData(NonpositiveOperand):
    """Data code took the logarithm."""

    advice = "clamp {name} to a small positive number first, use `log1p` if zeros are intended, or drop such samples"


class LogarithmGradient(Logarithm):
    """The gradient of a logarithm was computed at 0, where it is infinite."""

    node: str
    message = (
        "{expression} has no finite gradient: the gradient of a logarithm is 1/x, "
        "and {name} was exactly 0{samples}"
    )

    def evidence(self) -> Iterator[Evidence]:
        claim = f"{self.node} divides by the operand of the logarithm, which was 0"
        yield Evidence(claim, value=0.0, step=self.step)


class LogarithmInKernel(Logarithm):
    """A torch function internally took the logarithm of a value that has none."""

    of: str
    message = "{expression} takes the logarithm of {of}{samples}"


class LogOfNegativeDeterminant(BirthDiagnosis):
    """`logdet` gives NaN where the determinant is negative."""

    name: str
    message = "{expression} takes the logarithm of a negative determinant: {name} is not positive definite{samples}"
    headline = "{expression} takes the logarithm of a negative determinant"
    advice = (
        "if {name} is a covariance, make it positive definite by construction: `L @ L.mT` with a triangular L whose "
        "diagonal is positive; its log-determinant is twice the sum of the logarithms of that diagonal. If its sign "
        "does not matter, take `torch.linalg.slogdet({name}).logabsdet`"
    )


class LogOfNonpositive(Detector):
    """A logarithm was taken of zero or of a negative number."""

    name = "log-of-nonpositive"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case NonpositiveOperand(by_rounding=by_rounding):
                pass
            case LogOfNegativeDeterminant():
                return  # A small multiple of the identity does not make it definite.
            case _:
                by_rounding = False
        yield from bounds.for_every_use(finding.location, source)
        yield from guards.for_log(finding.location, source, by_rounding=by_rounding)


def judge(birth: Birth) -> Judgement | None:
    """Return the logarithm that failed in a birth, or None."""
    if is_of_negative_determinant(birth):
        return Judgement(LogOfNegativeDeterminant(at=born(birth), name=_matrix_of(birth)))
    violation = proven(birth, LogOfNonpositive.name)
    if violation is None:
        return None
    operand = violation.operand
    match violation.row.case:
        case "gradient":
            is_second = node_of(birth) in OF_SECOND_OPERAND
            diagnosis: Logarithm = LogarithmGradient(
                at=born(birth),
                name=forward_operand(birth, 1 if is_second else 0),
                node=birth.node or "",
            )
            return Judgement(diagnosis)
        case "kernel":
            diagnosis = LogarithmInKernel(
                at=born(birth),
                name=name_of(operand),
                of=violation.row.noun,
            )
            return Judgement(diagnosis, (operand_fact(birth, operand),))
    by_rounding = is_rounded_difference(violation)
    is_negative = violation.value is not None and violation.value < 0 and not by_rounding
    kind: type[NonpositiveOperand] = NegativeOperand if is_negative else NonpositiveOperand
    if called(expression_of(name_of(operand))) in DETERMINANTS and (
        is_negative or violation.value == 0
    ):
        kind = NegativeDeterminant if is_negative else ZeroDeterminant
    if birth.phase == "data":
        kind = NonpositiveData
    diagnosis = kind(
        at=born(birth),
        name=forward_operand(birth) if is_formula(birth) else name_of(operand),
        operand=operand_value(operand),
        shifted=violation.row.case == "log1p",
        by_rounding=by_rounding,
    )
    return Judgement(diagnosis)


def _matrix_of(birth: Birth) -> str:
    call = expression_of(birth.location.expression or "") if birth.location is not None else None
    if not isinstance(call, ast.Call):
        return "the matrix"
    if call.args:
        return ast.unparse(call.args[0])
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else "the matrix"
