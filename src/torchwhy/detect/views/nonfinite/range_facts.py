"""Queries on a result that overflowed its dtype: how large the operands were, whether a wider dtype holds it."""

from __future__ import annotations

import math

from torchwhy.detect.views.nonfinite.birth_facts import describe, op_name, show
from torchwhy.detect.views.nonfinite.judging import expression_of, name_of
from torchwhy.detect.views.nonfinite.operand_facts import (
    LARGEST,
    arguments,
    infinite_operand,
    is_formula,
    output_type,
    value_of,
)
from torchwhy.finding import Evidence, Label
from torchwhy.record.events import Birth, Operand

# These are finite for all finite operands in exact arithmetic, so an infinite result is an overflow. Redoing them in
# float64 does not prove it: repeated products overflow float64, too.
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
OPERANDS_SHOWN = 3


def fits_a_wider_type(birth: Birth) -> bool:
    """Tell whether a float16 result is finite if the operation is redone in a wider dtype."""
    return output_type(birth) == "float16" and birth.wider == "finite"


def left_the_range(birth: Birth) -> bool:
    """Tell whether a result overflowed float32, float64 or bfloat16, proven by a wider dtype or by the operation."""
    if output_type(birth) not in ("float32", "float64", "bfloat16"):
        return False
    if birth.wider == "finite":
        return True
    if infinite_operand(birth) is not None or op_name(birth) not in ARITHMETIC:
        return False
    # NaN results from two products that overflow with opposite signs, so their factors must be large enough.
    return birth.value != "nan" or product_of_sizes(birth) > LARGEST[output_type(birth)]


def product_of_sizes(birth: Birth) -> float:
    """Return the product of the largest magnitudes of all tensor operands."""
    return math.prod(size_of(operand) for operand in arguments(birth) if operand.tensor is not None)


def largest_operand(birth: Birth) -> Operand | None:
    """Return the operand with the largest magnitude."""
    return max(arguments(birth), key=size_of, default=None)


def size_of(operand: Operand) -> float:
    """Return the largest magnitude in an operand."""
    if operand.tensor is None:
        return abs(value_of(operand) or 0.0)
    return max(abs(operand.tensor.minimum or 0.0), abs(operand.tensor.maximum or 0.0))


def name_of_largest(birth: Birth) -> str:
    """Return the program's name for the largest operand, or a description if it has none.

    In backward the operands are gradients; inside a module the name would be the call of the module itself.
    """
    if is_formula(birth):
        return "its largest operand"
    name = name_of(largest_operand(birth))
    return "a value inside it" if name == expression_of(birth) else name


def operand_ranges(birth: Birth) -> tuple[Evidence, ...]:
    """Return the first operands with their ranges as evidence."""
    found = []
    for operand in arguments(birth)[:OPERANDS_SHOWN]:
        name, facts = name_of(operand, otherwise="an operand"), _range(operand)
        if name != facts:  # A number in the source says what it is.
            label = Label(name, facts)
            found.append(
                Evidence(f"{name}: {facts}", value=size_of(operand), step=birth.step, label=label)
            )
    return tuple(found)


def _range(operand: Operand) -> str:
    return describe(operand.tensor) if operand.tensor is not None else show(value_of(operand))
