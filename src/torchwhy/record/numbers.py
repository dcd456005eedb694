"""Numbers in JSON: non-finite ones are written as the strings "nan", "inf" and "-inf"."""

from __future__ import annotations

import math

Real = float | str


def encode(value: float) -> Real:
    """Return `value` itself if finite, else its name, because JSON has no word for it."""
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"


def decode(value: Real) -> float:
    """Return the float that `encode` was given."""
    return float(value)


def is_finite(value: Real) -> bool:
    """Tell whether an encoded number is finite."""
    return not isinstance(value, str)
