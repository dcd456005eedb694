"""A curve as one line of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

LEVELS = "▁▂▃▄▅▆▇█"
NOT_FINITE = "×"
WIDE_RATIO = 1000.0  # A linear curve of a wider range shows only its largest values, so its scale is logarithmic.


def sparkline(series: Sequence[float], width: int = 40) -> str:
    """Return the series as bars, oldest first; non-finite values are crosses.

    A longer series is cut into `width` stretches, each shown by its most extreme value, so that no spike is lost.
    """
    values = [_most_extreme(stretch) for stretch in _stretches(series, width)]
    finite = [value for value in values if math.isfinite(value)]
    if finite and min(finite) > 0 and max(finite) / min(finite) > WIDE_RATIO:
        values = [math.log(value) if math.isfinite(value) else value for value in values]
        finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    return "".join(_bar(value, low, high=high) for value in values)


def _stretches(series: Sequence[float], width: int) -> list[Sequence[float]]:
    count = min(width, len(series))
    edges = [len(series) * number // count for number in range(count + 1)] if count else [0]
    return [series[start:end] for start, end in pairwise(edges)]


def _most_extreme(stretch: Sequence[float]) -> float:
    for value in stretch:
        if not math.isfinite(value):
            return value
    return max(stretch, key=abs)


def _bar(value: float, low: float, *, high: float) -> str:
    if not math.isfinite(value):
        return NOT_FINITE
    if high == low:
        return LEVELS[0]
    # Halves, because the difference of two large numbers may not be finite.
    share = (value / 2 - low / 2) / (high / 2 - low / 2)
    return LEVELS[round(share * (len(LEVELS) - 1))]
