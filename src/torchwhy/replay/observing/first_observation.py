"""Ends the first observation: after the first steps, or earlier if looking takes long."""

from __future__ import annotations

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizers
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.observing.switch import MicroscopeSwitch

# Further calls of a closure run unseen after this many operations.
CLOSURE_OPERATIONS = 2000
# Stop observing if a new optimizer has not stepped after this many backward passes and this work of the microscope.
MOST_BACKWARDS, WAITING_WORK = 16, 5000
MANUAL_STEPS = (
    3  # backward passes observed without an optimizer: a manual update lies between two of them
)


class FirstObservation:
    """Knows when the first steps of a program have been seen."""

    def __init__(
        self,
        microscope: Microscope,
        switch: MicroscopeSwitch,
        optimizers: WatchedOptimizers,
        state: TrainingState,
    ) -> None:
        self._microscope = microscope
        self._switch = switch
        self._optimizers = optimizers
        self._state = state

    def end_long_closure(self) -> None:
        """Let a closure that is called again and again in the first step continue unseen, if looking takes long.

        A rerun sees a bad value that is born later in that step.
        """
        check = self._state.open_check
        is_called_again = check is not None and check.has_closure
        if is_called_again and self._microscope.seen > CLOSURE_OPERATIONS:
            self._switch.take_off("the closure of the first step was seen, and is called again")

    def end_without_step(self) -> None:
        """Give up waiting for an optimizer that does not step: micro-batches take a limited number of passes."""
        state = self._state
        has_waited = not state.step and state.backwards > MOST_BACKWARDS
        if has_waited and self._microscope.work > WAITING_WORK:
            reason = f"no step came in {state.backwards} backward passes"
            self._switch.take_off(reason, cut_short=True)

    def end_manual(self) -> None:
        """End after a few steps of a program that updates its weights itself."""
        if self._state.step >= MANUAL_STEPS:
            self._switch.take_off("the first steps are over")

    def end_after_step(self) -> None:
        """End when at most one optimizer has not stepped, or the others have made many steps."""
        if not self._microscope.is_on:
            return
        optimizers = self._optimizers
        waiting = [watched for watched in optimizers.all() if not watched.steps]
        if len(waiting) <= 1 or self._state.step >= 2 * optimizers.count:
            self._switch.take_off("the first step is over")
