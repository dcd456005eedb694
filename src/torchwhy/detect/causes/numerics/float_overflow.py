from __future__ import annotations

import math
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.numerics import domain_error, exp_overflow
from torchwhy.detect.fixes.values import bad_values
from torchwhy.detect.views.nonfinite.birth_facts import describe, op_name, show
from torchwhy.detect.views.nonfinite.judging import (
    Verdict,
    expression_of,
    findings_by_place,
    name_of,
    samples_of,
)
from torchwhy.detect.views.nonfinite.operand_facts import (
    LARGEST,
    arguments,
    is_formula,
    is_masked,
    output_type,
    value_of,
    zero_divisor,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, Operand
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

# Operations that leave the range even in float64 when repeated multiplication is inside them, so that redoing
# them in a wider type proves nothing. They are finite for all finite operands on paper.
ARITHMETIC = frozenset(
    {
        "mul",
        "add",
        "sub",
        "rsub",
        "sum",
        "mean",
        "mm",
        "bmm",
        "addmm",
        "baddbmm",
        "addmv",
        "mv",
        "dot",
        "pow",
        "square",
        "prod",
        "cumprod",
        "cumsum",
        "convolution",
        "convolution_backward",
        "mse_loss",
        "mse_loss_backward",
        "var",
        "std",
        "linalg_vector_norm",
        "addcmul",
        "addcdiv",
        "lerp",
        "div",
        "_to_copy",
        "matrix_exp",
        "linalg_det",
        "_linalg_det",
    }
)
PRODUCTS = frozenset({"prod", "cumprod"})


class FloatOverflow(Detector):
    """A result left the range of float32 or float64, though every operand was finite."""

    name = "float-overflow"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from bad_values.bounded_state(finding, source)
        yield from bad_values.smaller(finding, source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise a result beyond the range of its type that no more specific cause claims."""
    if birth.kind != "operation" or is_masked(birth) or not left_the_range(birth):
        return None
    if exp_overflow.judge(birth) is not None or domain_error.judge(birth) is not None:
        return None
    facts = tuple(fact_of(birth, operand) for operand in arguments(birth)[:3])
    largest = max((operand for operand in arguments(birth)), key=size_of, default=None)
    way = f"in the gradient ({birth.node}), " if is_formula(birth) else ""
    # The name of an operand in backward is that of a gradient, which the program has no word for.
    name = who = "its largest operand" if is_formula(birth) else inner_name(birth, largest)
    size = show(size_of(largest)) if largest is not None else "?"
    if op_name(birth) in PRODUCTS and birth.reduced:
        who = f"it multiplies {birth.reduced} numbers of {name}, the largest of which"
    return Verdict(
        f"{way}{expression_of(birth)} leaves the range of {output_type(birth)} "
        f"(largest number {LARGEST.get(output_type(birth), 0):.2g}): {who} reached {size}{samples_of(birth)}",
        facts,
        f"bring {name} to a smaller scale before this operation (normalise, divide, work with logarithms), "
        "or find what made it grow",
    )


def left_the_range(birth: Birth) -> bool:
    """Tell whether the result is beyond float32 or float64: proven by a wider type, or by what the operation is."""
    if (
        output_type(birth) not in ("float32", "float64", "bfloat16")
        or zero_divisor(birth) is not None
    ):
        return False
    if birth.wider == "finite":
        return True
    if any(value_of(operand) in (float("inf"), float("-inf")) for operand in arguments(birth)):
        return False
    if op_name(birth) not in ARITHMETIC or birth.reduced in (0, 1):
        return False
    # NaN comes of two products that overflowed with opposite signs, so their factors must be large enough.
    return birth.value != "nan" or product_of_sizes(birth) > LARGEST[output_type(birth)]


def inner_name(birth: Birth, operand: Operand | None) -> str:
    """Return an operand's name; one that a module made on the way is not told apart by the call of that module."""
    name = name_of(operand)
    return "a value inside it" if name == expression_of(birth) else name


def product_of_sizes(birth: Birth) -> float:
    """Return the product of the largest magnitudes of all tensor operands."""
    return math.prod(size_of(operand) for operand in arguments(birth) if operand.tensor is not None)


def size_of(operand: Operand) -> float:
    """Return the largest magnitude in an operand."""
    if operand.tensor is None:
        return abs(value_of(operand) or 0.0)
    return max(abs(operand.tensor.minimum or 0.0), abs(operand.tensor.maximum or 0.0))


def fact_of(birth: Birth, operand: Operand) -> Evidence:
    """Return an operand with its range."""
    text = describe(operand.tensor) if operand.tensor is not None else show(value_of(operand))
    return Evidence(
        f"{name_of(operand, otherwise='an operand')}: {text}",
        value=size_of(operand),
        step=birth.step,
    )
