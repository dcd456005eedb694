from __future__ import annotations

import math
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import guards
from torchwhy.detect.views.nonfinite.birth_facts import op_name, show
from torchwhy.detect.views.nonfinite.judging import (
    Verdict,
    expression_of,
    findings_by_place,
    name_of,
    operand_fact,
    samples_of,
)
from torchwhy.detect.views.nonfinite.operand_facts import (
    argument,
    is_masked,
    largest_exponent,
    output_type,
    value_of,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, Operand
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

EXPONENTIALS = frozenset(
    {"exp", "expm1", "exp2", "cosh", "sinh", "special_exp2", "special_expm1", "i0", "special_i1"}
)


class ExpOverflow(Detector):
    """An exponential was taken of a number so large that the result exceeds the type's range."""

    name = "exp-overflow"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from guards.for_exp(finding, source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise an exponential whose operand is above the limit of its type."""
    if birth.kind != "operation" or is_masked(birth):
        return None
    operand = exponent_of(birth)
    value = value_of(operand)
    if value is None:
        return None
    limit = limit_of(birth)
    # An operand that float32 could bear is the fault of the half type, not of the exponential.
    bearable = limit_of(birth, "float32") if output_type(birth) == "float16" else limit
    if abs(value) <= max(limit, bearable):
        return None
    name = name_of(operand)
    return Verdict(
        f"{expression_of(birth)} overflows: {name} was {show(value)}{samples_of(birth)}, "
        f"and {op_name(birth)} of more than {limit:.4g} is infinite in {output_type(birth)}",
        (
            operand_fact(birth, operand, value),
            Evidence(
                f"the largest operand that {output_type(birth)} can bear is {limit:.4g}",
                value=limit,
            ),
        ),
        f"subtract the maximum of {name} first, use logsumexp, softmax or softplus in place of the formula, "
        f"or clamp {name} below {limit:.4g}",
    )


def exponent_of(birth: Birth) -> Operand | None:
    """Return what is exponentiated: the operand of exp and its kin, the exponent of `2.0 ** x`."""
    if op_name(birth) in EXPONENTIALS:
        return argument(birth, 0)
    if birth.op.startswith("aten.pow.Scalar"):
        base = value_of(argument(birth, 0))
        return argument(birth, 1) if base is not None and abs(base) > 1 else None
    return None


def limit_of(birth: Birth, dtype: str | None = None) -> float:
    """Return the largest operand whose exponential fits the type of the result."""
    dtype = dtype or output_type(birth)
    if op_name(birth) == "pow":
        base = value_of(argument(birth, 0)) or 2.0
        return largest_exponent("exp2", dtype) / math.log2(abs(base))
    return largest_exponent(op_name(birth), dtype)
