"""Whether an operand left its domain by rounding only: by a few units in the last place of its inputs."""

from __future__ import annotations

import math

from torchwhy.detect.rules.violations import Interval, Violation
from torchwhy.record.numbers import decode

# A sum of a few thousand terms, or a product of a few factors, is off by so many units of its largest term.
UNITS = 64
UNIT = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def is_rounding(violation: Violation) -> bool:
    """Tell whether every bad element lies so close to the domain that rounding explains it.

    The scale is that of the ends of the domain, of the operand's elements and, if it is a difference, of the numbers
    that were subtracted.
    """
    operand, domain = violation.operand, violation.domain
    facts = None if operand is None else operand.tensor
    if operand is None or facts is None or not isinstance(domain, Interval):
        return False
    ends = [operand.born_minimum, operand.born_maximum]
    known = [decode(one) for one in ends if one is not None]
    if not known and violation.value is not None:
        known = [violation.value]
    if not known or not all(map(math.isfinite, known)):
        return False
    beyond = max(domain.low - min(known), max(known) - domain.high)
    if beyond == 0 and 0 in known and operand.largest_subtracted is None:
        return False  # A pole at 0 needs no rounding to be hit: zeros come from data, masks and underflow.
    sizes = [domain.low, domain.high, facts.minimum or 0.0, facts.maximum or 0.0]
    if operand.largest_subtracted is not None:
        sizes.append(decode(operand.largest_subtracted))
    scale = max(abs(size) for size in sizes if math.isfinite(size))
    return beyond <= UNITS * UNIT.get(facts.dtype, 0.0) * scale


def is_rounded_difference(violation: Violation) -> bool:
    """Tell whether an operand is a difference that only rounding brought to the end of its domain, or past it."""
    operand = violation.operand
    is_difference = operand is not None and operand.largest_subtracted is not None
    return is_difference and is_rounding(violation)
