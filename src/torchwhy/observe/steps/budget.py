"""How much of the run's time may be ours, and what is left out when it would be more.

The check of loss and gradients is never left out. What can be thinned is how often a step goes the thorough way, with
its weights measured: every 50 steps at first, later at growing distances, and rarer still where that would cost more
than the budget. Why it was thinned is written into the trace, once per reason.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from torchwhy.record.events import Thinned

if TYPE_CHECKING:
    from torchwhy.observe.session import Session

DEFAULT = 0.01  # of the run's time
DENSE_STEPS = 20  # a wrong rate shows within the first steps, so these are all sampled
SPARSE_EVERY = 50
GROWTH = 40  # beyond 2000 steps the distance is a fortieth of the way so far: a million steps give 300 samples
FOR_SAMPLES = 0.25  # of the budget: the rest is for the check itself
MOST_STEPS = 2000  # between two samples, however small the budget


class Budget:
    """Compares what a thorough step costs with how long steps take, and spaces the thorough ones accordingly."""

    def __init__(self, session: Session) -> None:
        self._session = session
        options = session.configuration.get("options", {})
        self.share = float(options.get("budget") or DEFAULT)
        self._told: set[str] = set()
        self._last = (0, 0, session.began, 0.0)

    def next_sample(self, steps: int) -> int:
        """Return the step of an optimizer at which its weights are measured after this one."""
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
        """Return the distance of thorough steps at which they stay within their part of the budget."""
        session = self._session
        step, quiet = session.sentinel.step, session.cruise.steps
        now, own = time.perf_counter(), session.guests.seconds
        step_before, quiet_before, then, own_before = self._last
        self._last = (step, quiet, now, own)
        steps = step - step_before
        thorough = steps - (quiet - quiet_before)
        if steps <= 0 or thorough <= 0:
            return SPARSE_EVERY
        each = (own - own_before) / thorough
        step_seconds = max((now - then) / steps, 1e-9)
        return int(each / (step_seconds * self.share * FOR_SAMPLES)) + 1

    def _tell(self, what: str, reason: str) -> None:
        if what in self._told:
            return
        self._told.add(what)
        self._session.write(Thinned(step=self._session.sentinel.step, what=what, reason=reason))
