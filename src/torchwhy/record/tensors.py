"""The facts about a tensor that events contain."""

from __future__ import annotations

import msgspec


class TensorFacts(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A tensor in a few numbers; minimum and maximum are over its finite elements, None if it has none."""

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
