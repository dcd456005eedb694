"""The random state that a step began with, taken rarely by programs whose steps draw nothing."""

from __future__ import annotations

from torchwhy.observe.devices import generator_states
from torchwhy.observe.devices.generator_states import GeneratorStates
from torchwhy.observe.native.records import RandomRecord

STILL = 16  # times in a row without a draw, after which the state is taken only now and then
SELDOM = 64  # one time in so many: the age of a state does not matter to steps that draw nothing
COMPARED = 8  # one time in so many the state is compared, once every step has drawn


class RandomState(RandomRecord):
    """Returns the states of torch's generators; the same object as long as nothing is drawn.

    If a program draws at odd moments, the state may be a few draws old. A step repeated from it then gives other
    numbers than the failing one; torchwhy notices that and reruns the program from its seeds.
    """

    def __init__(self) -> None:
        self._state: GeneratorStates | None = None
        self._still = 0
        self._asked = 0
        self._drew = 0  # times in a row with a draw

    def take(self) -> GeneratorStates:
        """Return the current state, or one that no draw has changed since."""
        self._asked += 1
        if self._still >= STILL and self._asked % SELDOM and self._state is not None:
            return self._state
        now, before = generator_states.take(), self._state
        if self._drew >= STILL and self._asked % COMPARED:
            self._state = now
            return now
        if before is not None and now.equals(before):
            self._still += 1
            self._drew = 0
            return before
        if before is not None:
            self._still = 0
            self._drew += 1
        self._state = now
        return now

    @property
    def last(self) -> GeneratorStates | None:
        """Return what was taken last."""
        return self._state

    def expect_change(self) -> None:
        """Take a new state next time: something besides a step has drawn, e.g. a new loader iterator."""
        self._state = None
