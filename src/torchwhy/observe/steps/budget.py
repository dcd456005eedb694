"""Keeps watching within its share of the run's time.

Loss and gradients are checked at every step. Only the thorough steps, which also measure weights, are thinned: every 50
steps at first, later at growing distances, and less often if they would exceed the budget. The trace says why.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from torchwhy.observe.guest import Guests
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.record.events import Thinned

DEFAULT = 0.01  # of the run's time
DENSE_STEPS = 20  # all sampled, because a wrong rate shows within the first steps
SPARSE_EVERY = 50
GROWTH = 40  # beyond 2000 steps, the distance is 1/40 of the steps so far: a million steps give 300 samples
FOR_SAMPLES = 0.25  # of the budget: the rest is for the check itself
MOST_STEPS = 2000  # between two samples, however small the budget


class Budget:
    """Compares the cost of a thorough step with the length of a step, and spaces thorough steps accordingly."""

    def __init__(
        self,
        recorder: Recorder,
        state: TrainingState,
        guests: Guests,
        *,
        share: float | None,
        quiet_steps: Callable[[], int],
    ) -> None:
        self._recorder = recorder
        self._state = state
        self._guests = guests
        self._quiet_steps = quiet_steps  # steps made at cruising speed so far
        self.share = share or DEFAULT
        self._told: set[str] = set()
        self._last = (0, 0, time.thread_time(), 0.0)

    def next_sample(self, steps: int) -> int:
        """Return the step of an optimizer at which its weights are measured next."""
        if steps < DENSE_STEPS:
            return steps + 1
        if steps < SPARSE_EVERY:
            return SPARSE_EVERY
        wanted = max(SPARSE_EVERY, steps // GROWTH)
        affordable = min(MOST_STEPS, self._affordable())
        if affordable > wanted:
            self._tell(
                "samples",
                f"one thorough step in {affordable} instead of {wanted}: more would cost over "
                f"{self.share * FOR_SAMPLES:.2%} of the time",
            )
        return steps + max(wanted, affordable)

    def _affordable(self) -> int:
        """Return the smallest distance of thorough steps that stays within the budget."""
        step, quiet = self._state.step, self._quiet_steps()
        now, own = time.thread_time(), self._guests.seconds
        step_before, quiet_before, then, own_before = self._last
        self._last = (step, quiet, now, own)
        steps = step - step_before
        thorough = steps - (quiet - quiet_before)
        if steps <= 0 or thorough <= 0:
            return SPARSE_EVERY
        each = (own - own_before) / thorough
        step_seconds = max((now - then) / steps, 1e-9)
        distance = each / (step_seconds * self.share * FOR_SAMPLES)
        # In doublings, so that small differences between two runs give the same samples.
        doublings = max(0, math.ceil(math.log2(max(distance, 1.0) / SPARSE_EVERY) - 0.1))
        return SPARSE_EVERY << doublings

    def _tell(self, what: str, reason: str) -> None:
        if what in self._told:
            return
        self._told.add(what)
        self._recorder.write(Thinned(step=self._state.step, what=what, reason=reason))
