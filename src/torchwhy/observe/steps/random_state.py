"""The random state that a step began with, taken rarely by programs whose steps draw nothing."""

from __future__ import annotations

import torch

from torchwhy.observe.native.records import RandomRecord

STILL = 16  # times in a row without a draw, after which the state is taken only now and then
SELDOM = 64  # one time in so many: the age of a state does not matter to steps that draw nothing


class RandomState(RandomRecord):
    """Returns the state of torch's CPU generator; the same tensor as long as nothing is drawn.

    If a program draws at odd moments, the state may be a few draws old. A step repeated from it then gives other
    numbers than the failing one; torchwhy notices that and reruns the program from its seeds.
    """

    def __init__(self) -> None:
        self._state: torch.Tensor | None = None
        self._still = 0
        self._asked = 0

    def take(self) -> torch.Tensor:
        """Return the current state, or one that no draw has changed since."""
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
        """Take a new state next time: something besides a step has drawn, e.g. a new loader iterator."""
        self._state = None
