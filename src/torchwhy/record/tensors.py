"""The facts about tensors and operands that events contain, and the kept values of a sample."""

from __future__ import annotations

from typing import Literal

import msgspec

from torchwhy.finding import SourceSpan
from torchwhy.record.event import Event
from torchwhy.record.numbers import Real


class TensorFacts(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A tensor in a few numbers; minimum and maximum are over its finite elements, None if it has none.

    Of labels, `zero_runs` counts the stretches of zeros in memory order, and `zero_ends` is the greatest number that
    divides all their ends: the length of a row if zeros only stand at the end of rows. `own_rows` counts labels that
    are the number of their own row.
    """

    dtype: str
    shape: list[int]
    minimum: float | None = None
    maximum: float | None = None
    nan: int = 0
    positive_infinity: int = 0
    negative_infinity: int = 0
    zeros: int = 0
    zero_runs: int = 0
    zero_ends: int = 0
    own_rows: int = 0
    first_bad_index: list[int] | None = None
    device: str = "cpu"


# What a program that does not train did with a bad value: a model gave it, a lone number or a whole tensor is NaN, it
# was saved, a part of a tensor is NaN, or only infinities were used.
Use = Literal["output", "nan", "saved", "part", "infinity"]
OriginKind = Literal[
    "batch",
    "parameter",
    "buffer",
    "literal",
    "array",
    "operation",
    "uninitialised",
    "rank",
    "unknown",
]


class Operand(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One argument of an operation, as it was just before the operation ran.

    `at_born` is its value at the first bad element of the result (same index after broadcasting). `born_minimum` and
    `born_maximum` are taken over all bad elements. For scalars only `scalar` is set. `wider_at_born`, for an operand
    in half precision that is 0 there, is its value if it is computed in float32; if that is not 0, it underflowed.
    `largest_subtracted`, for an operand that is a difference, is the largest magnitude in the difference's operands.
    `bins` counts its finite values in equal steps from the tensor's minimum to its maximum.
    """

    name: str | None = None
    argument: str | None = None
    tensor: TensorFacts | None = None
    scalar: Real | None = None
    at_born: Real | None = None
    born_minimum: Real | None = None
    born_maximum: Real | None = None
    wider_at_born: Real | None = None
    largest_subtracted: Real | None = None
    origin: OriginKind = "unknown"
    origin_name: str | None = None
    origin_location: SourceSpan | None = None
    bins: list[int] = []


class SampleValues(Event, frozen=True, tag="sample-values"):
    """One tensor of the failing batch for the guilty sample (`bad`) and for the neighbour that replaced it (`good`).

    `shape` is that of one sample; the values are those of every `every[i]`-th index of dimension i, in memory order.
    """

    step: int
    field: str
    dtype: str
    shape: list[int]
    every: list[int]
    position: int
    bad: list[Real]
    good_position: int
    good: list[Real]
