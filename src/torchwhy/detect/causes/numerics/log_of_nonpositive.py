from __future__ import annotations

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
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

# Their forward functions take the logarithm of the second operand.
OF_SECOND_OPERAND = frozenset({"XlogyBackward", "SpecialXlog1PyBackward"})


class Logarithm(BirthDiagnosis):
    """A logarithm failed at the value of an operand."""

    name: str
    advice = (
        "compute the logarithm from the logits (log_softmax, logsigmoid, logsumexp, a loss *_with_logits) "
        "in place of {name}, or clamp {name} to a small positive number first"
    )


class NonpositiveOperand(Logarithm):
    """The operand of a logarithm lies at or below its bound: 0, or -1 where the logarithm is of 1 + x (`shifted`)."""

    operand: OperandValue
    shifted: bool
    message = "{expression} takes the logarithm of {what}{operand}: {name} was {operand}{samples}"

    @property
    def what(self) -> str:
        return "1 + x at x = " if self.shifted else ""

    def evidence(self) -> Iterator[Evidence]:
        yield self.fact(self.operand)


class NonpositiveData(NonpositiveOperand):
    """The code of a dataset takes the logarithm."""

    advice = "clamp {name} to a small positive number first, take `log1p` if zeros are meant, or leave such samples out"


class LogarithmGradient(Logarithm):
    """The gradient of a logarithm was taken at 0, where it is infinite."""

    node: str
    message = "{expression} has the gradient 1/x of a logarithm, and {name} was exactly 0{samples}"

    def evidence(self) -> Iterator[Evidence]:
        claim = f"{self.node} divides by the operand of the logarithm, which was 0"
        yield Evidence(claim, value=0.0, step=self.step)


class LogarithmInKernel(Logarithm):
    """A function of torch took a logarithm inside, of a value that has none."""

    of: str
    message = "{expression} takes the logarithm of {of}{samples}"


class LogOfNonpositive(Detector):
    """A logarithm was taken of zero or of a negative number."""

    name = "log-of-nonpositive"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from bounds.for_every_use(finding.location, source)
        yield from guards.for_log(finding.location, source)


def judge(birth: Birth) -> Judgement | None:
    """Return which logarithm failed in a birth, if one did."""
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
    kind = NonpositiveData if birth.phase == "data" else NonpositiveOperand
    diagnosis = kind(
        at=born(birth),
        name=forward_operand(birth) if is_formula(birth) else name_of(operand),
        operand=operand_value(operand),
        shifted=violation.row.case == "log1p",
    )
    return Judgement(diagnosis)
