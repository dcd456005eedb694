"""The random state that a step began with, taken rarely by programs whose steps draw nothing."""

from __future__ import annotations

import torch

from torchwhy.observe.native.records import RandomRecord

STILL = 16  # times in a row that nothing was drawn, before it is only asked now and then
SELDOM = 64  # one in so many: to a step that draws nothing it does not matter how old a state is


class RandomState(RandomRecord):
    """Hands out the state of torch's generator on the CPU; the same tensor as long as nothing is drawn.

    In a program that draws at odd moments a state may so be a few draws old. A step repeated from it then differs
    from the failing one, which is noticed, and the program is rerun from its seeds instead.
    """

    def __init__(self) -> None:
        self._state: torch.Tensor | None = None
        self._still = 0
        self._asked = 0

    def take(self) -> torch.Tensor:
        """Return the state of now."""
        self._asked += 1
        if self._still >= STILL and self._asked % SELDOM and self._state is not None:
            return self._state
        now, before = torch.default_generator.get_state(), self._state
        if before is not None and torch.equal(now, before):
            self._still += 1
            return before
        if before is not None:
            self._still = 0
        self._state = now
        return now

    def expect_change(self) -> None:
        """Something that draws is known to have run, and is no step: a loader's iterator was made."""
        self._state = None
