from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import guards
from torchwhy.detect.views.nonfinite.birth_facts import op_name
from torchwhy.detect.views.nonfinite.judging import (
    Verdict,
    expression_of,
    findings_by_place,
    forward_operand,
    samples_of,
)
from torchwhy.detect.views.nonfinite.operand_facts import (
    argument,
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

KINDS = {
    "SqrtBackward": "a square root",
    "PowBackward": "a power below 1",
    "LinalgVectorNormBackward": "a norm",
    "NormBackward": "a norm",
    "StdBackward": "a standard deviation",
    "StdMeanBackward": "a standard deviation",
    "DistBackward": "a distance",
    "HypotBackward": "a hypotenuse",
    "CdistBackward": "a distance",
    "PdistBackward": "a distance",
}


class RootGradientAtZero(Detector):
    """The gradient of a root was taken at exactly zero, where it is infinite."""

    name = "root-gradient-at-zero"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from guards.for_root(finding, source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise the backward formula of a root that divides by the root's own value, which is 0."""
    node = node_of(birth)
    if birth.kind != "operation" or node not in KINDS or is_masked(birth):
        return None
    if underflowed_operand(birth) is not None or not is_at_zero(birth):
        return None
    name = forward_operand(birth)
    where = "its operand" if name == "its operand" else f"its operand {name}"
    value = "all its values were equal" if "deviation" in KINDS[node] else f"{where} was exactly 0"
    return Verdict(
        f"{expression_of(birth)} has an infinite gradient at 0: {value}{samples_of(birth)}",
        (
            Evidence(
                f"{birth.node} divides by the value of {KINDS[node]}, which was 0",
                value=0.0,
                step=birth.step,
            ),
            Evidence("the forward value is finite: only the gradient is not", step=birth.step),
        ),
        f"add a small constant under the root: sqrt(x + 1e-12) in place of {expression_of(birth)}, "
        "or use the square itself",
    )


def is_at_zero(birth: Birth) -> bool:
    """Tell whether the formula divides by 0, or raises 0 to a power between -1 and 0."""
    if node_of(birth) == "PowBackward":
        exponent = value_of(argument(birth, 1))
        return zero_divisor(birth) is not None and exponent is not None and exponent > -1
    return zero_divisor(birth) is not None or op_name(birth) in (
        "_cdist_backward",
        "_pdist_backward",
    )
