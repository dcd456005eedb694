"""The handler of an ordinary run: observes first steps, judges every step, and starts to repeat a bad one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchwhy.observe.recorder import Recorder
from torchwhy.observe.step_handler import CurrentHandler
from torchwhy.observe.steps.check import Check
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.replay.crash.caught_exceptions import CaughtExceptions
from torchwhy.replay.crash.uncaught_exceptions import UncaughtExceptions
from torchwhy.replay.experiments.sample_independence import SampleIndependence
from torchwhy.replay.handlers.ending import Ending
from torchwhy.replay.handlers.repeating import Repeating
from torchwhy.replay.nonfinite.spoiled_values import SpoiledValues, bad_parameters
from torchwhy.replay.observing.first_observation import FirstObservation
from torchwhy.replay.observing.manual_steps import ManualSteps
from torchwhy.replay.observing.observed_step import ObservedStep
from torchwhy.replay.observing.quiet_steps import QuietSteps
from torchwhy.replay.observing.switch import MicroscopeSwitch
from torchwhy.replay.parameters.parameter_watch import ParameterWatch
from torchwhy.replay.step.replay_state import ReplayState
from torchwhy.replay.step.rewind import Rewind
from torchwhy.replay.triggers.observations import Observations
from torchwhy.replay.triggers.step_triggers import Triggers


class Watching:
    """Current from the start of a run; while a step is repeated, `Repeating` takes its place."""

    def __init__(
        self,
        handlers: CurrentHandler,
        switch: MicroscopeSwitch,
        *,
        step: ObservedStep,
        manual_steps: ManualSteps,
        first_observation: FirstObservation,
        observations: Observations,
        triggers: Triggers,
        samples: SampleIndependence,
        quiet: QuietSteps,
        replay_state: ReplayState,
        rewind: Rewind,
        spoiled_values: SpoiledValues,
        parameter_watch: ParameterWatch,
        caught_exceptions: CaughtExceptions,
        uncaught_exceptions: UncaughtExceptions,
        ending: Ending,
        recorder: Recorder,
        state: TrainingState,
        protect: Callable[..., Any],
    ) -> None:
        self.quiet: QuietSteps | None = quiet
        self._handlers = handlers
        self._switch = switch
        self._step = step
        self._manual_steps = manual_steps
        self._first_observation = first_observation
        self._observations = observations
        self._triggers = triggers
        self._replay_state = replay_state
        self._rewind = rewind
        self._spoiled_values = spoiled_values
        self._caught_exceptions = caught_exceptions
        self._uncaught_exceptions = uncaught_exceptions
        self._ending = ending
        self._state = state
        self._begin_observation = protect("phase probe", observations.optimizer_made)
        self._end_observation = protect("phase probe", observations.after_step)
        self._write_postponed = protect("graph probe", recorder.write_postponed)
        self._follow_parameters = protect("census probe", parameter_watch.after_step)
        self._undo_update = protect("withheld update", rewind.withheld_update.after_step)
        self._choose_samples = protect("samples experiment", samples.choose)
        self._ask_samples = protect("samples experiment", samples.ask)
        self._count_caught = protect("exception watch", caught_exceptions.after_step)
        self._watch_for_exceptions = protect("exception watch", caught_exceptions.lost_one)
        self._trigger_before_backward = protect("signals", triggers.before_backward)
        self._trigger_after_step = protect("signals", triggers.after_step)

    def optimizer_made(self) -> None:
        """Watch for caught exceptions from now on, because training is about to begin."""
        self._caught_exceptions.begin()
        self._replay_state.optimizer_made()
        self._switch.optimizer_made()
        self._begin_observation(may_begin=self._may_observe)

    @property
    def _may_observe(self) -> bool:
        """Tell whether nothing else needs the microscope."""
        triggers = self._triggers
        return self._rewind.is_idle and triggers.is_idle and not triggers.is_measuring

    def iteration_lost(self) -> None:
        """Watch for an exception that the program catches."""
        self._watch_for_exceptions()

    def before_backward(self, losses: list[torch.Tensor], *, accumulates: bool = True) -> None:
        """Record the graph of the losses; `torch.autograd.grad` accumulates nothing and has no loss."""
        if self._triggers.is_measuring:
            return  # our own differentiation
        self._step.begin_backward()
        self._manual_steps.before_backward(losses, step_begins=self._first_observation.end_manual)
        if not self._triggers.is_observing:
            self._step.write_graph(losses, accumulates=accumulates)
        self._spoiled_values.note_losses(losses)
        if accumulates:
            self._trigger_before_backward(losses)
            if not self._triggers.is_observing:
                self._first_observation.end_long_closure()
            self._first_observation.end_without_step()
            self._observations.after_backward()

    def before_step(self, check: Check) -> None:
        """Act on the verdict about the step that is about to write."""
        self.observe_parameters(check)
        self._rewind.withheld_update.begin_step()
        if check.is_bad and not check.has_closure:
            self._spoiled_values.note_gradients(check)
            self._bad_step(check)
        elif check.watched is not None and check.has_closure and self._rewind.skips_updates:
            self._rewind.withheld_update.prepare(check.watched)  # it is judged when it is made
        elif check.watched is not None and not check.has_closure:
            self._step.pause_for_update(check.watched)

    def observe_parameters(self, check: Check) -> None:
        """Record the parameters before the first step of an optimizer, if the microscope is on for it."""
        self._step.note_first_step(check)
        watched, observations = check.watched, self._observations
        if watched is None or not observations.wants(watched) or self._triggers.is_observing:
            return
        observations.saw(watched)
        self._step.write_parameters(check, optimizers=observations.optimizers)
        if not observations.is_observing:
            self._choose_samples()

    def after_step(self, check: Check | None) -> None:
        """Judge what was written, and keep what a replay of the next step needs."""
        self._step.end_update(check)
        self._end_step(check)
        self._undo_update()
        self._step.resume()

    def _end_step(self, check: Check | None) -> None:
        triggers, observations = self._triggers, self._observations
        if check is not None and self._step.has_written_bad(check):
            self._bad_step(check)
        if not triggers.is_observing and not observations.is_observing:
            self._first_observation.end_after_step()
        self._follow_parameters()
        self._count_caught()
        self._replay_state.after_step(check.watched if check is not None else None)
        if not self._rewind.alarmed:
            self._trigger_after_step(check)
            self._ask_samples()
            if self._state.step:
                self._write_postponed()
                self._switch.release()
        if check is not None:
            self._end_observation(check, may_begin=self._may_observe)
        self._step.begin_next(keeps_forwards=not triggers.is_observing)

    def bad_backward(self, check: Check) -> None:
        """Act on a bad loss that no optimizer step uses."""
        self._bad_step(check)

    def _bad_step(self, check: Check) -> None:
        check.bad_parameters = check.bad_parameters or bad_parameters(check)
        self._rewind.when_ended = self._take_over
        self._rewind.bad_step(check)
        if self._rewind.is_repeating:
            self._handlers.current = Repeating(self, self._rewind, self._step, self._spoiled_values)

    def _take_over(self) -> None:
        """Watch again after a repetition."""
        self._handlers.current = self

    def loss_was_read(self, loss: torch.Tensor) -> None:
        """Do nothing: a bad loss matters if the program ends, or at the next step."""

    def program_compiles(self) -> None:
        """Take the microscope off: under a dispatch mode, compiled code runs eagerly and gives other bits."""
        self.note_compiling()
        self._switch.take_off("the program compiles its model", cut_short=True)

    def note_compiling(self) -> None:
        """Note that the program compiles its model, and take a trace function off."""
        self._switch.compiles = True
        self._caught_exceptions.program_compiles()

    def program_died(self, error: BaseException) -> Callable[[], object] | None:
        """Return the look at an uncaught exception, for the time when the user has seen the traceback."""
        return self._uncaught_exceptions.look_later(error)

    def at_exit(self) -> None:
        """Look at what the program leaves behind."""
        self._ending.at_exit()

    def leave(self) -> None:
        """Take everything off."""
        self._ending.leave()
