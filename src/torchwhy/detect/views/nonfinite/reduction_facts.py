"""Queries on reductions: how many elements went into each result, and whether any of them counts."""

from __future__ import annotations

from torchwhy.detect.views.nonfinite.birth_facts import tensors
from torchwhy.detect.views.nonfinite.operand_facts import argument
from torchwhy.record.events import Birth
from torchwhy.record.numbers import decode

INTEGERS = ("int", "uint", "bool")


def is_undefined_class_loss(birth: Birth) -> bool:
    """Tell whether a classification loss is NaN in forward, because it divided by a total weight of 0."""
    return birth.node is None and birth.value == "nan" and len(tensors(birth)) > 1


def divides_by_a_count(birth: Birth) -> bool:
    """Tell whether a forward operation divides by integers."""
    divisor = argument(birth, 1)
    if birth.node is not None or divisor is None or divisor.tensor is None:
        return False
    return divisor.tensor.dtype.startswith(INTEGERS)


def has_too_few(birth: Birth) -> bool:
    """Tell whether a forward `std` or `var` has no more elements than its correction subtracts."""
    return birth.node is None and birth.reduced is not None and birth.reduced <= _correction(birth)


def reduces_nothing(birth: Birth) -> bool:
    """Tell whether no element went into the result of a forward operation."""
    if birth.node is not None:
        return False
    return birth.reduced == 0 or (birth.reduced is None and _all_empty(birth))


def _correction(birth: Birth) -> float:
    """Return the `correction` that is subtracted from the number of elements; 1 by default."""
    for operand in birth.operands:
        if operand.argument == "correction" and operand.scalar is not None:
            return decode(operand.scalar)
    return 1.0


def _all_empty(birth: Birth) -> bool:
    found = tensors(birth)
    return bool(found) and all(0 in one.tensor.shape for one in found if one.tensor is not None)
