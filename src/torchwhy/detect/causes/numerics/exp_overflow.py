from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import exponentials
from torchwhy.detect.rules.operand_domains import proven
from torchwhy.detect.views.nonfinite.birth_facts import op_name
from torchwhy.detect.views.nonfinite.judging import (
    BirthDiagnosis,
    Judgement,
    OperandValue,
    born,
    findings_by_place,
    operand_value,
)
from torchwhy.detect.views.nonfinite.operand_facts import largest_exponent, output_type
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

HYPERBOLIC = frozenset({"cosh", "sinh"})


class LargeExponent(BirthDiagnosis):
    """The operand of an exponential exceeded `limit`, above which the result overflows its dtype."""

    function: str
    exponent: OperandValue
    limit: float
    dtype: str
    message = (
        "{expression} overflows: {exponent.name} was {exponent}{samples}, "
        "and {function} of more than {limit:.4g} is infinite in {dtype}"
    )
    headline = "{expression} overflows"
    advice = (
        "subtract the maximum of {exponent.name} first, use logsumexp, softmax or softplus instead of the formula, "
        "or clamp {exponent.name} below {limit:.4g}"
    )

    def evidence(self) -> Iterator[Evidence]:
        yield self.fact(self.exponent)
        claim = f"{self.function} overflows {self.dtype} above {self.limit:.4g}"
        yield Evidence(claim, value=self.limit)


class LargeHyperbolic(LargeExponent):
    """The operand of a hyperbolic function was too large for its dtype."""

    advice = (
        "if a logarithm follows, compute both in one: log(cosh(x)) = x + softplus(-2 * x) - log(2); else bring "
        "{exponent.name} to a scale below {limit:.4g}"
    )


class ExpOverflow(Detector):
    """An exponential was taken of a number so large that the result exceeds the range of its dtype."""

    name = "exp-overflow"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from exponentials.for_exp(finding.location, source)


def judge(birth: Birth) -> Judgement | None:
    """Return the exponent of a birth that is too large for the dtype of the result, or None."""
    violation = proven(birth, ExpOverflow.name)
    if violation is None:
        return None
    dtype = output_type(birth)
    function = op_name(birth)
    kind = LargeHyperbolic if function in HYPERBOLIC else LargeExponent
    diagnosis = kind(
        at=born(birth),
        function=function,
        exponent=operand_value(violation.operand),
        limit=largest_exponent(birth, dtype),
        dtype=dtype,
    )
    return Judgement(diagnosis)
