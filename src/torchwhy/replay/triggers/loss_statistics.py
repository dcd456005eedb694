"""Summarises the losses of one optimizer in a few numbers: does the loss still fall, did it grow?"""

from __future__ import annotations

import math
from dataclasses import field

from torchwhy.plain_data import dataclass

FIRST_MARK = (
    25  # steps after which the loss has fallen visibly on most problems; later marks double
)
FALL = 0.01  # a block of steps whose mean is lower by less than this share has not fallen
ERRORS = 2.0  # standard errors by which two means must differ
CONVERGED = 0.1  # a loss below this share of its first value may stall: it has been learnt
GREW = 10.0  # a loss of so many times its first value diverges
GREW_EARLY = 2.0  # the same in the first steps, where it raises the question of a stable rate
EARLY = 20  # steps that count as the first ones


@dataclass
class Block:
    """Losses between two marks: their number, mean and spread."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, loss: float) -> None:
        """Add one loss."""
        self.count += 1
        self.total += loss
        self.squares += loss * loss

    @property
    def mean(self) -> float:
        """Return the mean loss."""
        return self.total / self.count if self.count else math.nan

    @property
    def error(self) -> float:
        """Return the standard error of the mean."""
        if self.count < 2:
            return 0.0
        variance = max(0.0, self.squares / self.count - self.mean**2)
        return math.sqrt(variance / self.count)


@dataclass
class LossStatistics:
    """The losses of one optimizer in a few numbers."""

    steps: int = 0
    first: float = math.nan
    lowest: float = math.inf
    last: float = math.nan
    mark: int = FIRST_MARK
    block: Block = field(default_factory=Block)
    before: Block | None = None
    backwards: int = 1

    def add(self, loss: float) -> None:
        """Add the loss of one step."""
        if not self.steps:
            self.first = loss
        self.steps += 1
        self.last = loss
        self.lowest = min(self.lowest, loss)
        self.block.add(loss)

    def at_mark(self) -> bool:
        """Tell whether a mark is reached, and set the next one."""
        if self.steps < self.mark:
            return False
        self.mark *= 2
        return True

    def falls(self) -> bool:
        """Tell whether the block that ends here is lower than the one before; the first is compared with the start."""
        before, now = self.before, self.block
        self.before, self.block = now, Block()
        if 0 < now.mean < CONVERGED * self.first:
            return True
        reference = before.mean if before is not None else self.first
        error = math.hypot(now.error, before.error) if before is not None else now.error
        return reference - now.mean > max(FALL * abs(reference), ERRORS * error)

    @property
    def grew(self) -> bool:
        """Tell whether the loss is an order of magnitude above the first one."""
        return 0 < GREW * self.first < self.last

    @property
    def grew_early(self) -> bool:
        """Tell whether one of the first updates made the loss much worse."""
        return 1 < self.steps <= EARLY and 0 < GREW_EARLY * self.first < self.last
