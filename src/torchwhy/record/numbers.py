"""Numbers in JSON; non-finite ones are the strings "nan", "inf" and "-inf"."""

from __future__ import annotations

import math

Real = float | str


def encode(value: float) -> Real:
    """Return `value` itself if it is finite, else its name, because JSON cannot express it."""
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"


def decode(value: Real) -> float:
    """Return the float that `encode` encoded; NaN for a word that it does not write."""
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def is_finite(value: Real) -> bool:
    """Tell whether an encoded number is finite."""
    return not isinstance(value, str)
