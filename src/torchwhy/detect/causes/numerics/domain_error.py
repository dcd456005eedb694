from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import guards
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
    DOMAIN_NODES,
    argument,
    is_formula,
    is_masked,
    node_of,
    value_of,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


@dataclass(frozen=True)
class Domain:
    """Where a function is finite: between `low` and `high`; `closed` if it is finite at the edges, too."""

    low: float
    high: float
    words: str
    closed: bool = False

    def holds(self, value: float) -> bool:
        """Tell whether the function is finite at `value`."""
        return self.low <= value <= self.high if self.closed else self.low < value < self.high


INFINITY = float("inf")
DOMAINS = {
    "acos": Domain(-1, 1, "[-1, 1]", closed=True),
    "asin": Domain(-1, 1, "[-1, 1]", closed=True),
    "atanh": Domain(-1, 1, "(-1, 1)"),
    "acosh": Domain(1, INFINITY, "[1, inf)", closed=True),
    "erfinv": Domain(-1, 1, "(-1, 1)"),
    "logit": Domain(0, 1, "(0, 1)"),
    "special_ndtri": Domain(0, 1, "(0, 1)"),
    "lgamma": Domain(0, INFINITY, "(0, inf)"),
    "digamma": Domain(0, INFINITY, "(0, inf)"),
    "polygamma": Domain(0, INFINITY, "(0, inf)"),
    "sqrt": Domain(0, INFINITY, "[0, inf)", closed=True),
    "rsqrt": Domain(0, INFINITY, "(0, inf)"),
}
# At 0 it is finite in no sense, but there the cause is the division.
BELONGS_TO_DIVISION = frozenset({"rsqrt"})
# polygamma(n, x): the operand is the second argument.
OF_SECOND_ARGUMENT = frozenset({"polygamma"})


class DomainError(Detector):
    """A function was evaluated where it is not defined, or its gradient where that is infinite."""

    name = "domain-error"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from guards.for_domain(finding, source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise a function outside of its domain, or a slope at the edge of it."""
    if birth.kind != "operation" or birth.phase == "update" or is_masked(birth):
        return None
    if node_of(birth) in DOMAIN_NODES:
        return judge_slope(birth)
    if op_name(birth) == "pow":
        return judge_power(birth)
    if op_name(birth) == "log" and node_of(birth) == "PowBackward":
        return judge_slope(
            birth, of="the exponent needs the logarithm of the base, which is not positive"
        )
    if op_name(birth) in DOMAINS:
        return judge_function(birth)
    return None


def judge_function(birth: Birth) -> Verdict | None:
    """Compare the operand with the function's domain."""
    kind = op_name(birth)
    operand = argument(birth, 1 if kind in OF_SECOND_ARGUMENT else 0)
    value = value_of(operand)
    domain = DOMAINS[kind]
    if value is None or domain.holds(value) or (value == 0 and kind in BELONGS_TO_DIVISION):
        return None
    name = name_of(operand)
    return Verdict(
        f"{expression_of(birth)} is not defined at {show(value)}: {name} was that{samples_of(birth)}, "
        f"and must stay in {domain.words}",
        (
            operand_fact(birth, operand, value),
            Evidence(f"{kind} is finite in {domain.words}", step=birth.step),
        ),
        f"clamp {name} to a range a little inside {domain.words} before it goes into {kind}",
    )


def judge_power(birth: Birth) -> Verdict | None:
    """Recognise a negative number to a power that is not whole."""
    base, exponent = value_of(argument(birth, 0)), value_of(argument(birth, 1))
    if base is None or exponent is None or base >= 0 or float(exponent).is_integer():
        return None
    name = (
        forward_operand(birth)
        if is_formula(birth)
        else name_of(argument(birth, 0), otherwise="its base")
    )
    return Verdict(
        f"{expression_of(birth)} raises a negative number to a power that is not whole: "
        f"{name} was {show(base)}, the exponent {show(exponent)}{samples_of(birth)}",
        (
            operand_fact(birth, argument(birth, 0), base),
            operand_fact(birth, argument(birth, 1), exponent),
        ),
        f"make {name} positive before taking the power: clamp it to a small positive number, or use its absolute value",
    )


def judge_slope(
    birth: Birth, *, of: str = "its slope is infinite at the edge of its domain"
) -> Verdict:
    """Describe a gradient that does not exist although the value does."""
    name = forward_operand(birth)
    return Verdict(
        f"{expression_of(birth)} has no finite gradient: {of}, and {name} was there{samples_of(birth)}",
        (
            Evidence(
                f"the gradient was computed in {birth.node} by {op_name(birth)}",
                value=birth.value,
                step=birth.step,
            ),
        ),
        f"clamp {name} a little inside the open interval before it goes into {expression_of(birth)}",
    )
