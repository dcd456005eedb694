"""The handler of a rerun: comes up to the failing step and ends the process there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchwhy.observe.steps.check import Check
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.replay.crash.frames.traceback_frames import frames_of
from torchwhy.replay.handlers.ending import Ending
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.nonfinite.refused_values import values_refused_by
from torchwhy.replay.nonfinite.spoiled_values import SpoiledValues, bad_parameters
from torchwhy.replay.observing.first_observation import FirstObservation
from torchwhy.replay.observing.manual_steps import ManualSteps
from torchwhy.replay.observing.observed_step import ObservedStep
from torchwhy.replay.observing.switch import MicroscopeSwitch
from torchwhy.replay.parameters.parameter_watch import ParameterWatch
from torchwhy.replay.step.replay_state import ReplayState
from torchwhy.replay.step.rerun_child import RerunChild


class Rerunning:
    """Observes the first steps as in a run, then waits for the failing one."""

    quiet = None

    def __init__(
        self,
        rerun_child: RerunChild,
        microscope: Microscope,
        switch: MicroscopeSwitch,
        *,
        step: ObservedStep,
        manual_steps: ManualSteps,
        first_observation: FirstObservation,
        replay_state: ReplayState,
        spoiled_values: SpoiledValues,
        parameter_watch: ParameterWatch,
        ending: Ending,
        keep_state: Callable[[Check], object],
        state: TrainingState,
        protect: Callable[..., Any],
    ) -> None:
        self._rerun_child = rerun_child
        self._microscope = microscope
        self._switch = switch
        self._step = step
        self._manual_steps = manual_steps
        self._first_observation = first_observation
        self._replay_state = replay_state
        self._spoiled_values = spoiled_values
        self._ending = ending
        self._keep_state = keep_state
        self._state = state
        self._follow_parameters = protect("census probe", parameter_watch.after_step)

    def optimizer_made(self) -> None:
        """Do nothing: a rerun observes no late optimizer."""

    def iteration_lost(self) -> None:
        """Do nothing: a rerun looks for no caught exceptions."""

    def before_backward(self, losses: list[torch.Tensor], *, accumulates: bool = True) -> None:
        """Record the graph of the losses, and the births of bad ones."""
        self._step.begin_backward()
        self._manual_steps.before_backward(losses, step_begins=self._come_closer)
        self._step.write_graph(losses, accumulates=accumulates)
        self._spoiled_values.note_losses(losses)

    def _come_closer(self) -> None:
        self._rerun_child.come_closer(self._state.step + 1)

    def before_step(self, check: Check) -> None:
        """End at a bad step; else put the microscope on if the failing one is next."""
        self._step.note_first_step(check)
        self._keep_state(check)
        if self._microscope.is_on and check.watched is not None and not check.watched.steps:
            self._step.write_parameters(check, optimizers=set())
        if check.is_bad and not check.has_closure:
            self._spoiled_values.note_gradients(check)
            self.bad_backward(check)
        else:
            self._rerun_child.passed(check)
            self._rerun_child.come_closer(check.step + 1)

    def after_step(self, check: Check | None) -> None:
        """Judge what was written, and end the first observation unless the failing step is close."""
        self._step.end_update(check)
        if check is not None and self._step.has_written_bad(check):
            self.bad_backward(check)
        if self._microscope.is_on and not self._rerun_child.is_close(self._state.step + 1):
            self._first_observation.end_after_step()
        self._follow_parameters()
        self._replay_state.after_step(check.watched if check is not None else None)
        self._step.begin_next(keeps_forwards=False)
        self._step.resume()

    def bad_backward(self, check: Check) -> None:
        """Write what was seen of the failure, and end the process."""
        check.bad_parameters = bad_parameters(check)
        self._rerun_child.end(check)

    def loss_was_read(self, loss: torch.Tensor) -> None:
        """End if this is the loss at which the program stopped."""
        self._rerun_child.loss_was_read(loss)

    def program_compiles(self) -> None:
        """Take the microscope off until the failing step is close."""
        self._switch.compiles = True
        self._switch.take_off("the program compiles its model", cut_short=True)

    def program_died(self, error: BaseException) -> Callable[[], object] | None:
        """Return the look at an exception about bad values, for the time when the traceback was shown."""
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            return None
        frames = frames_of(error.__traceback__)

        def look() -> None:
            bad = values_refused_by(error, frames)
            if bad:
                self._rerun_child.values_were_refused(bad)

        return look

    def at_exit(self) -> None:
        """Look at what the program leaves behind, if it ends before the failing step."""
        self._ending.at_exit()

    def leave(self) -> None:
        """Take everything off."""
        self._ending.leave()
