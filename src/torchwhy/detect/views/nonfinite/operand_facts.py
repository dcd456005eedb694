"""Queries on a birth's operands: which one is the divisor, what its value was, whether it underflowed."""

from __future__ import annotations

import math

from torchwhy.detect.views.nonfinite.birth_facts import op_name, value_at_born
from torchwhy.finding import SourceSpan
from torchwhy.record.events import Birth, Operand
from torchwhy.record.numbers import decode
from torchwhy.source.calls import called
from torchwhy.source.values import expression_of, numbers_in

LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.3895e38,
    "float32": 3.4028235e38,
    "float64": 1.7976931348623157e308,
}
# Half the smallest subnormal number; anything closer to 0 rounds to 0.
ROUNDS_TO_ZERO = {"float16": 2.0**-25, "bfloat16": 2.0**-134, "float32": 2.0**-150, "float64": 0.0}
HALF_TYPES = frozenset({"float16", "bfloat16"})

DIVISIONS = frozenset({"div", "divide", "true_divide", "floor_divide", "remainder", "fmod"})
INVERSES = frozenset({"reciprocal", "rsqrt"})

MASKS = frozenset({"where", "masked_fill"})  # functions that take the place of bad values

INFINITIES = (math.inf, -math.inf)


def is_formula(birth: Birth) -> bool:
    """Tell whether torch's backward formula made the birth, and not a hook of the program."""
    if birth.node is None or birth.location is None:
        return birth.node is not None
    if birth.forward is not None and birth.forward.location is not None:
        return _start(birth.location) == _start(birth.forward.location)
    return birth.called_from is None or _start(birth.location) == _start(birth.called_from)


def _start(place: SourceSpan) -> tuple[str, int, int | None]:
    return place.file, place.line, place.column


def node_of(birth: Birth) -> str | None:
    """Return `SqrtBackward` for a birth in the formula of `SqrtBackward0`; None for one in the program's code."""
    if birth.node is None or not is_formula(birth):
        return None
    return birth.node.rpartition("::")[2].rstrip("0123456789")


def is_torchs_update(birth: Birth) -> bool:
    """Tell whether an optimizer of torch made the birth: the program's expression is then the call of `step`."""
    written = birth.location.expression if birth.location is not None else None
    return birth.phase == "update" and (not written or ".step(" in written)


def is_masked(birth: Birth) -> bool:
    """Tell whether a mask hides the birth in forward, and the gradient of that branch is not finite."""
    return mask_over(birth) is not None


def mask_over(birth: Birth) -> SourceSpan | None:
    """Return the mask that hides a birth in forward: of a gradient, or of a value that only gradients show."""
    if birth.forward is not None:
        return birth.forward.hidden_by
    shows = all(what.startswith("gradient of ") for what in birth.reaches)
    if birth.phase != "forward" or birth.healed_by is None or not birth.reaches or not shows:
        return None
    healer = expression_of(birth.healed_by.expression or "")
    return birth.healed_by if called(healer) in MASKS else None


def arguments(birth: Birth) -> list[Operand]:
    """Return the operands that are tensors or numbers, in argument order."""
    return [
        operand
        for operand in birth.operands
        if operand.tensor is not None or operand.scalar is not None
    ]


def argument(birth: Birth, index: int) -> Operand | None:
    """Return the tensor or number at one position of the call; None if it has fewer."""
    found = arguments(birth)
    return found[index] if index < len(found) else None


def value_of(operand: Operand | None) -> float | None:
    """Return the operand's value at the first bad element; None if it is unknown."""
    return None if operand is None else value_at_born(operand)


def divisor_of(birth: Birth) -> Operand | None:
    """Return the operand that the operation divides by: the second argument, the base of a negative power, …"""
    name = op_name(birth)
    if name in DIVISIONS:
        return argument(birth, 1)
    if name in INVERSES:
        return argument(birth, 0)
    if name == "addcdiv":
        return argument(birth, 2)
    if name == "pow":
        exponent = value_of(argument(birth, 1))
        return argument(birth, 0) if exponent is not None and exponent < 0 else None
    return None


def output_type(birth: Birth) -> str:
    """Return the dtype of the result, without `torch.`."""
    return birth.output.dtype.removeprefix("torch.") if birth.output is not None else ""


def is_half(birth: Birth) -> bool:
    """Tell whether the result is float16 or bfloat16."""
    return output_type(birth) in HALF_TYPES


def constants_in(expression: str | None) -> list[float]:
    """Return the numbers written in an expression, in order."""
    return numbers_in(expression_of(expression or ""))


def vanished_constant(birth: Birth) -> float | None:
    """Return a constant of the expression that is not 0 but rounds to 0 in the result's half-precision dtype."""
    if not is_half(birth) or birth.location is None:
        return None
    smallest = ROUNDS_TO_ZERO[output_type(birth)]
    names = [operand.name for operand in birth.operands]
    for text in (birth.location.expression, *names):
        for constant in constants_in(text):
            if 0 < abs(constant) <= smallest:
                return constant
    return None


def underflowed_operand(birth: Birth) -> Operand | None:
    """Return an operand that is 0 in half precision and provably not 0 in float32."""
    if not is_half(birth):
        return None
    for operand in arguments(birth):
        if (
            operand.wider_at_born is not None
            and value_of(operand) == 0
            and decode(operand.wider_at_born) != 0
        ):
            return operand
    zeros = [operand for operand in arguments(birth) if value_of(operand) == 0]
    return zeros[-1] if zeros and vanished_constant(birth) is not None else None


def exponent_of_number(birth: Birth) -> Operand | None:
    """Return the exponent of `2.0 ** x` if the base is a number above 1 in magnitude."""
    base = value_of(argument(birth, 0))
    if base is None or abs(base) <= 1 or not birth.op.startswith("aten.pow.Scalar"):
        return None
    return argument(birth, 1)


def largest_exponent(birth: Birth, dtype: str) -> float:
    """Return the largest operand whose exponential fits a dtype."""
    natural = math.log(LARGEST.get(dtype, LARGEST["float32"]))
    if op_name(birth) == "pow":
        base = value_of(argument(birth, 0)) or 2.0
        return natural / math.log(abs(base))
    if op_name(birth) == "exp2":
        return natural / math.log(2.0)
    return natural + math.log(2.0) if op_name(birth) in ("cosh", "sinh") else natural


def epsilon_of(birth: Birth) -> Operand | None:
    """Return the eps of a normalisation: the argument of that name, or the last plain number of the call."""
    named = [operand for operand in arguments(birth) if operand.argument == "eps"]
    numbers = named or [operand for operand in arguments(birth) if operand.tensor is None]
    return numbers[-1] if numbers else None


def infinite_operand(birth: Birth) -> Operand | None:
    """Return the first operand that is infinite at the first bad element."""
    found = (operand for operand in arguments(birth) if value_of(operand) in INFINITIES)
    return next(found, None)
