"""The engine of the operand rules: finds the rows of a table that a birth violates, the most specific first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Protocol

from torchwhy.detect.views.nonfinite.birth_facts import op_name
from torchwhy.detect.views.nonfinite.operand_facts import argument, node_of, value_of
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Birth, Operand

EVERY_PHASE = frozenset({"data", "forward", "backward", "accumulate", "clip", "update"})


class Region(Protocol):
    """A set of numbers."""

    def holds(self, value: float) -> bool:
        """Tell whether a number is in the set."""
        ...


@dataclass(frozen=True)
class Interval:
    """The numbers between two ends; `closed` includes the finite ends."""

    low: float
    high: float
    closed: bool = False

    def holds(self, value: float) -> bool:
        """Tell whether a number lies inside."""
        is_end = value in (self.low, self.high)
        return self.low < value < self.high or (is_end and (self.closed or math.isinf(value)))

    def __str__(self) -> str:
        """Return the interval in mathematical notation, `[1, inf)`."""
        left = "[" if self.closed and math.isfinite(self.low) else "("
        right = "]" if self.closed and math.isfinite(self.high) else ")"
        return f"{left}{self.low:g}, {self.high:g}{right}"


@dataclass(frozen=True)
class Except:
    """All numbers except one."""

    point: float

    def holds(self, value: float) -> bool:
        """Tell whether a number differs from the excluded one."""
        return value != self.point


@dataclass(frozen=True)
class Fractions:
    """The numbers that are not integers."""

    def holds(self, value: float) -> bool:
        """Tell whether a number has a fractional part."""
        return not float(value).is_integer()


class Specificity(IntEnum):
    """How precisely a row explains a birth: the most specific of the violated rows is the cause."""

    RANGE = 0  # the result is too large for its dtype, whatever the operation
    INFINITY = 1  # an infinite operand became NaN
    EXPONENT = 2  # the operand is too large for an exponential
    FUNCTION = 3  # the operand is outside the function's domain
    DIVISION = 4  # the divisor is 0
    KERNEL = 5  # the operation can fail for one reason only, so its name is the proof
    HALF = 6  # the result is finite in float32: the dtype is the reason, not the operation
    FORMULA = 7  # the backward formula of a known function divides by the function's operand
    EMPTY = 8  # the reduction has no elements
    COUNT = 9  # a known kind of reduction has too few elements
    UNDERFLOW = 10  # the operand is 0 only because of its dtype
    CALLER = 11  # the operation belongs to a part of training that has its own cause
    HIDDEN = 12  # a mask discarded the elements in the forward pass, and the gradient came through


@dataclass(frozen=True)
class Row:
    """One way in which an operation fails, and the cause that it proves.

    A row applies to a birth if every condition holds: the `operations`, the `nodes` (functions whose backward
    formula ran; empty means any), the `kinds` and `phases`, `when`, and `given`, another operand with the region
    where its value must lie. A birth violates a row that applies if the value of `operand` (an argument index, or
    a function that finds the operand) lies outside `needs`, or if the row has no `needs`. `case` selects the
    diagnosis of the cause, and `noun` is a word for its message.
    """

    cause: str
    case: str
    specificity: Specificity
    operations: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset({"operation"})
    phases: frozenset[str] = EVERY_PHASE
    when: Callable[[Birth], bool] | None = None
    given: tuple[int, Region] | None = None
    operand: int | Callable[[Birth], Operand | None] = 0
    needs: Region | Callable[[Birth], Region] | None = None
    noun: str = ""

    @property
    def name(self) -> str:
        """Return a name made of the cause, the case, and the first backward formula and operation."""
        first = (min(names) for names in (self.nodes, self.operations) if names)
        return " ".join((f"{self.cause}: {self.case}", *first))


@dataclass(frozen=True)
class Violation:
    """A row that a birth violates, with the operand at fault and the region where its value should have been."""

    row: Row
    operand: Operand | None
    value: float | None
    domain: Region | None


def violations(birth: Birth, rows: Iterable[Row]) -> list[Violation]:
    """Return the rows that a birth violates, the most specific first."""
    found = [violation for row in rows if (violation := _violation(birth, row)) is not None]
    return sorted(found, key=lambda one: one.row.specificity, reverse=True)


def _violation(birth: Birth, row: Row) -> Violation | None:
    if not _applies(birth, row):
        return None
    operand = argument(birth, row.operand) if isinstance(row.operand, int) else row.operand(birth)
    value = value_of(operand)
    if row.needs is None:
        return Violation(row, operand, value, None)
    domain = row.needs(birth) if callable(row.needs) else row.needs
    if value is None or domain.holds(value):
        return None
    return Violation(row, operand, value, domain)


def _applies(birth: Birth, row: Row) -> bool:
    if birth.kind not in row.kinds or birth.phase not in row.phases:
        return False
    if row.operations and op_name(birth) not in row.operations:
        return False
    if row.nodes and node_of(birth) not in row.nodes:
        return False
    if row.when is not None and not row.when(birth):
        return False
    if row.given is None:
        return True
    place, region = row.given
    value = value_of(argument(birth, place))
    return value is not None and region.holds(value)
