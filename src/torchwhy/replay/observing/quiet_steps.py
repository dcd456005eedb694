"""What is left to do at steps that cruise: keep what a replay needs, and follow losses and batches."""

from __future__ import annotations

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.step_handler import CopiedAfterStep
from torchwhy.replay.crash.caught_exceptions import CaughtExceptions
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.observing.switch import MicroscopeSwitch
from torchwhy.replay.step.replay_state import ReplayState
from torchwhy.replay.step.rewind import Rewind
from torchwhy.replay.triggers.step_triggers import Triggers


class QuietSteps:
    """Knows whether the loop may cruise, and answers the cruise."""

    def __init__(
        self,
        microscope: Microscope,
        rewind: Rewind,
        triggers: Triggers,
        *,
        switch: MicroscopeSwitch,
        replay_state: ReplayState,
        caught_exceptions: CaughtExceptions,
        recorder: Recorder,
    ) -> None:
        self._microscope = microscope
        self._switch = switch
        self._rewind = rewind
        self._triggers = triggers
        self._replay_state = replay_state
        self._caught_exceptions = caught_exceptions
        self._recorder = recorder

    def is_quiet(self) -> bool:
        """Tell whether nothing is going on that needs the thorough way."""
        return (
            self._rewind.is_idle
            and not self._microscope.is_busy
            and self._switch.has_released
            and self._triggers.is_idle
            and not self._recorder.has_postponed
            and self._caught_exceptions.is_resting
        )

    def is_idle(self) -> bool:
        """Tell whether a backward pass inside of a step with a closure concerns nothing of ours."""
        is_off = not self._microscope.is_busy
        return is_off and self._rewind.is_idle and self._triggers.is_idle

    def copies_after_steps(self) -> tuple[bool, CopiedAfterStep]:
        """Tell whether anything is copied after each step; and what of it the accelerator can copy."""
        return self._replay_state.copies_after_steps()

    def after_step(self) -> None:
        """Keep what a replay of the next step needs."""
        self._replay_state.after_quiet_step()

    def forget_old_batches(self) -> None:
        """Release the batches that no optimizer needs any more."""
        self._replay_state.forget_old_batches()

    def drew_batches(self, before: int, now: int) -> int:
        """Follow a loop that does not draw one batch per step; return the batch before which to ask again."""
        return self._caught_exceptions.drew(before, now)

    def limits(self, watched: WatchedOptimizer) -> tuple[float, int]:
        """Return the loss above which, and the number of steps after which, to call `take_losses`."""
        return self._triggers.limits(watched)

    def take_losses(self, watched: WatchedOptimizer, losses: list[float]) -> None:
        """Judge the losses of some steps."""
        self._triggers.take(watched, losses)
