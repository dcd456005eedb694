"""How much the questions of a rehearsal may take: seconds, shared fairly, after which one could not be asked."""

from __future__ import annotations

from time import perf_counter


class CannotAsk(Exception):  # noqa: N818 - a reason, not a fault
    """A question that has no answer for this program, and why."""


class Allowance:
    """Counts down; a question whose share is used up is refused, and never answered by half."""

    def __init__(self, seconds: float) -> None:
        self._ends = perf_counter() + seconds
        self._share_ends = self._ends
        self.operations = 0

    def begin_question(self, waiting: int) -> None:
        """Give the next question a fair share of what is left; `waiting` counts it and those after it."""
        now = perf_counter()
        self._share_ends = now + max(0.0, self._ends - now) * 2 / (waiting + 1)

    def spend(self, operations: int) -> None:
        """Count the work of one run of a step."""
        self.operations += operations
        if perf_counter() > self._share_ends:
            raise CannotAsk("the time for questions was used up")
