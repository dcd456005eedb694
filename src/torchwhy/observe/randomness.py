"""The random state that a step began with, taken rarely by programs whose steps draw nothing."""

from __future__ import annotations

import torch

STILL = 16  # times in a row that nothing was drawn, before it is only asked now and then
SELDOM = 16  # one in so many


class RandomState:
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
        now = torch.default_generator.get_state()
        if self._state is not None and torch.equal(now, self._state):
            self._still += 1
            return self._state
        self._still = 0
        self._state = now
        return now

    def expect_change(self) -> None:
        """Something that draws is known to have run: a loader's iterator was made."""
        self._still = 0
