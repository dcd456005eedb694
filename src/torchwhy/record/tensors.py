"""A tensor in numbers, as events carry it."""

from __future__ import annotations

import msgspec


class TensorFacts(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A tensor in one line. Minimum and maximum are over the finite elements, None if there are none."""

    dtype: str
    shape: list[int]
    minimum: float | None = None
    maximum: float | None = None
    nan: int = 0
    positive_infinity: int = 0
    negative_infinity: int = 0
    zeros: int = 0
    first_bad_index: list[int] | None = None
    device: str = "cpu"
