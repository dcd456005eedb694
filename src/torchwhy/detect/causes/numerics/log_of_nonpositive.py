from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import bounds, guards
from torchwhy.detect.views.nonfinite.birth_facts import op_name, show
from torchwhy.detect.views.nonfinite.judging import (
    Verdict,
    expression_of,
    findings_by_place,
    forward_operand,
    name_of,
    operand_fact,
    samples_of,
)
from torchwhy.detect.views.nonfinite.operand_facts import (
    LOG_NODES,
    argument,
    is_formula,
    is_masked,
    node_of,
    underflowed_operand,
    value_of,
    zero_divisor,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

# The bound each logarithm needs its operand to stay above.
BOUNDS = {
    "log": 0.0,
    "log2": 0.0,
    "log10": 0.0,
    "log1p": -1.0,
    "xlogy": 0.0,
    "special_xlog1py": -1.0,
    "special_entr": 0.0,
}
# These take the logarithm of their second argument; the others of their first.
OF_SECOND_ARGUMENT = frozenset({"xlogy", "special_xlog1py"})
# They take a logarithm inside one kernel, of a probability, a target or a determinant.
FUSED = {
    "binary_cross_entropy": "a probability of exactly 0 or 1",
    "binary_cross_entropy_backward": "a probability of exactly 0 or 1",
    "_linalg_slogdet": "a determinant of 0",
}


class LogOfNonpositive(Detector):
    """A logarithm was taken of zero or of a negative number."""

    name = "log-of-nonpositive"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from bounds.for_every_use(finding, source)
        yield from guards.for_log(finding, source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise a logarithm, or the gradient of one, at or below the bound of its operand."""
    if birth.kind != "operation" or birth.phase == "update" or is_masked(birth):
        return None
    if underflowed_operand(birth) is not None:
        return None
    if op_name(birth) in FUSED:
        return judge_fused(birth)
    if op_name(birth) in BOUNDS and node_of(birth) != "PowBackward":
        return judge_logarithm(birth)
    if node_of(birth) in LOG_NODES and zero_divisor(birth) is not None:
        return judge_gradient(birth)
    return None


def judge_logarithm(birth: Birth) -> Verdict | None:
    """Compare the operand of a logarithm with its bound."""
    kind = op_name(birth)
    operand = argument(birth, 1 if kind in OF_SECOND_ARGUMENT else 0)
    value = value_of(operand)
    if value is None or value > BOUNDS[kind]:
        return None
    name = forward_operand(birth) if is_formula(birth) else name_of(operand)
    what = "1 + x at x = " if BOUNDS[kind] else ""
    return Verdict(
        f"{expression_of(birth)} takes the logarithm of {what}{show(value)}: "
        f"{name} was {show(value)}{samples_of(birth)}",
        (operand_fact(birth, operand, value),),
        advice_for_data(name) if birth.phase == "data" else advice_for(name),
    )


def judge_gradient(birth: Birth) -> Verdict:
    """Describe the gradient 1/x of a logarithm at 0."""
    name = forward_operand(
        birth, 1 if node_of(birth) in ("XlogyBackward", "SpecialXlog1PyBackward") else 0
    )
    return Verdict(
        f"{expression_of(birth)} has the gradient 1/x of a logarithm, and {name} was exactly 0{samples_of(birth)}",
        (
            Evidence(
                f"{birth.node} divides by the operand of the logarithm, which was 0",
                value=0.0,
                step=birth.step,
            ),
        ),
        advice_for(name),
    )


def judge_fused(birth: Birth) -> Verdict:
    """Describe a logarithm inside a kernel that does more than that."""
    operand = argument(birth, 0)
    return Verdict(
        f"{expression_of(birth)} takes the logarithm of {FUSED[op_name(birth)]}{samples_of(birth)}",
        (operand_fact(birth, operand, value_of(operand)),),
        advice_for(name_of(operand)),
    )


def advice_for(name: str) -> str:
    """Return the usual cures, in the program's words."""
    return (
        f"compute the logarithm from the logits (log_softmax, logsigmoid, logsumexp, a loss *_with_logits) "
        f"in place of {name}, or clamp {name} to a small positive number first"
    )


def advice_for_data(name: str) -> str:
    """Return the usual cures where it is a dataset that takes the logarithm."""
    return f"clamp {name} to a small positive number first, take `log1p` if zeros are meant, or leave such samples out"
