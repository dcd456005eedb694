"""Probes that look before some of the steps, and backward passes, that go the thorough way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer


class StepListeners:
    """Tells each of them which optimizer is about to step; none fails into another."""

    def __init__(self) -> None:
        self._each: list[Callable[[WatchedOptimizer, int], Any]] = []
        self._of_backward: list[Callable[[], Any]] = []

    def add(self, listener: Callable[[WatchedOptimizer, int], Any]) -> None:
        """Call `listener` with the optimizer and the number of the step."""
        self._each.append(listener)

    def add_for_backward(self, listener: Callable[[], Any]) -> None:
        """Call `listener` before backward passes that fill gradients."""
        self._of_backward.append(listener)

    def before_backward(self) -> None:
        """Call all of these."""
        for listener in self._of_backward:
            listener()

    def before_step(self, watched: WatchedOptimizer, step: int) -> None:
        """Call all of them."""
        for listener in self._each:
            listener(watched, step)
