"""The handler that the boot wires into observe: when is the microscope on, and who acts on a bad step?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from torchwhy.observe.steps.random_state import RandomState
from torchwhy.observe.steps.sentinel import Check
from torchwhy.replay.crash.caught_exceptions import CaughtExceptions
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame, frames_of, told_error
from torchwhy.replay.crash.post_mortem import post_mortem
from torchwhy.replay.equipment import Stage
from torchwhy.replay.experiments.sample_independence import Samples
from torchwhy.replay.graph.graph_cuts import leaves_under, write_cuts
from torchwhy.replay.microscope.backward_log import is_torchs_own, note_update
from torchwhy.replay.nonfinite import refused_values
from torchwhy.replay.nonfinite.at_exit import look_at_the_end
from torchwhy.replay.parameters.census import write_census
from torchwhy.replay.parameters.manual_updates import ManualUpdates
from torchwhy.replay.step.rerun_child import RerunChild
from torchwhy.replay.step.rewind import Rewind
from torchwhy.replay.triggers.observations import Observations
from torchwhy.replay.triggers.step_triggers import Triggers

if TYPE_CHECKING:
    from torchwhy.observe.session import Session
    from torchwhy.observe.steps.watched_optimizers import WatchedOptimizer

CLOSURE_SECONDS = 0.5  # of looking, after which a closure is not looked at again
MOST_BACKWARDS, WAITING_SECONDS = (
    16,
    1.0,
)  # of looking, in which an optimizer that was made should make a step
MANUAL_STEPS = 3  # backward passes seen in a program without optimizer: its update by hand lies between two of them


class Replay:
    """Passes on what the sentinel tells: to the rewind in a run, to the second look in a rerun."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.stage = Stage(session)
        self.rewind = Rewind(self.stage)
        protect = session.guests.protect
        self.observations = Observations(self.stage)
        self._phase_begins = protect("phase probe", self.observations.optimizer_made)
        self._phase_ends = protect("phase probe", self.observations.after_step)
        self._note_holder = protect("phase probe", self.stage.parameter_memory.held_by)
        self._write_graph = protect("graph probe", self.stage.graph.write_ancestors)
        self._write_postponed = protect("graph probe", session.write_postponed)
        self._write_census = protect("census probe", write_census)
        self._cut_check: Check | None = None
        self._keep_forwards = protect("graph probe", self.stage.keep_forwards)
        self._follow = protect("census probe", self.stage.parameter_watch.after_step)
        self._write_cuts = protect("graph probe", write_cuts)
        self._note_manual_update = protect(
            "update probe", ManualUpdates(self.stage).before_backward
        )
        self.samples = Samples(self.stage)
        self._choose_samples = protect("samples experiment", self.samples.choose)
        self._ask_samples = protect("samples experiment", self.samples.ask)
        self.rerun_child = RerunChild(self.stage) if session.rerun_step is not None else None
        self.caught_exceptions = CaughtExceptions(self.stage)
        self._count_caught = protect("exception watch", self.caught_exceptions.after_step)
        self.triggers = Triggers(self.stage)
        self._trigger_before_backward = protect("signals", self.triggers.before_backward)
        self._trigger_after_step = protect("signals", self.triggers.after_step)

    def begin(self) -> None:
        """Put the microscope on: everything before the first step, and the first step, is seen."""
        self.stage.begin()
        if self.rerun_child is None:
            self.triggers.curvature.install()
            self.samples.install()
            protect = self.session.guests.protect
            self.session.modes.when_lost = protect(
                "exception watch", self.caught_exceptions.lost_one
            )

    def optimizer_made(self) -> None:
        """Training is about to begin: from now on exceptions that the program swallows are of interest."""
        if self.rerun_child is None:
            self.caught_exceptions.begin()
            self._phase_begins(may_look=self._may_look)

    @property
    def _may_look(self) -> bool:
        """Tell whether nobody else has a use for the microscope."""
        return (
            self.rerun_child is None
            and self.rewind.state == "watching"
            and not self.rewind.alarmed
            and self.triggers.is_idle
            and not self.triggers.curvature.is_running
        )

    def before_backward(self, losses: list[torch.Tensor], *, accumulates: bool = True) -> None:
        """Note which births the losses descend from; `torch.autograd.grad` accumulates nothing and is no loss."""
        if self.triggers.curvature.is_running:
            return  # our own differentiation
        self.stage.microscope.resume()
        self.stage.microscope.backward_log.begin()
        if not self.session.sentinel.optimizers.any_made:
            self._step_without_optimizer()
            self._note_manual_update(losses)
        if (
            self.stage.microscope.is_on
            and not self.rewind.is_repeating
            and not self.triggers.is_looking
        ):
            self._write_graph(losses, accumulates=accumulates)
            self._write_cuts_of_closure(losses)
        self.stage.note_bad_losses(losses)
        if accumulates and self.rerun_child is None and not self.rewind.is_repeating:
            self._trigger_before_backward(losses)
            self._end_long_look()
            self._end_look_without_step()
            self.observations.after_backward()

    def before_step(self, check: Check) -> None:
        """Act on the verdict about the step that is about to write."""
        watched = check.watched
        if watched is not None and not watched.steps:
            self._note_holder(watched.index, watched.parameters())
        if (
            watched is not None
            and self.observations.wants(watched)
            and not self.triggers.is_looking
        ):
            self._look_at_parameters(check, watched)
        if self.rewind.is_repeating:
            self.rewind.repeated(check)
        elif check.is_bad and not check.has_closure:
            self.stage.note_bad_gradients(check)
            self._bad_step(check)
        elif self.rerun_child is not None:
            self.rerun_child.come_closer(check.step + 1)
        elif check.watched is not None and not check.has_closure and not check.is_bad:
            self._step_aside_for(check.watched)

    def _look_at_parameters(self, check: Check, watched: WatchedOptimizer) -> None:
        """Write who feeds the loss and who does not, before the first step of an optimizer."""
        self.observations.saw(watched)
        self._write_census(self.stage, check, observation=self.observations.optimizers)
        self._write_cuts(self.stage, check)
        if any(gradient is not None for gradient in watched.gradients()):
            self._cut_check = check
        if not self.stage.observation:
            self._choose_samples()

    def _step_aside_for(self, watched: WatchedOptimizer) -> None:
        """Let an optimizer of torch write unseen: gradients are fine, and what it does to them is well known."""
        microscope = self.stage.microscope
        if (
            microscope.logs_briefly
            and not self.stage.nonfinite_log.is_open
            and is_torchs_own(watched.optimizer)
        ):
            microscope.pause()
            microscope.missed_update = microscope.is_paused

    def after_step(self, check: Check | None) -> None:
        """Look at what was written while the microscope is on; keep what a replay of the next step needs."""
        self.stage.microscope.tidy()
        if self.stage.microscope.is_paused and check is not None and check.watched is not None:
            note_update(self.stage.microscope, check.watched.parameters())
        if self.rewind.is_repeating:
            self.rewind.after_withheld_step()
        else:
            self._end_step(check)
        # Not before, since it need not see what we compute ourselves.
        self.stage.microscope.resume()

    def _end_step(self, check: Check | None) -> None:
        if check is not None and (self.stage.microscope.is_on or check.has_closure):
            self._look_at_written(check)
        self._close_first_step()
        self._follow()
        self._count_caught()
        self.stage.snapshot.take()
        if check is not None and check.watched is not None:
            check.watched.batches_at_last_step = self.session.batches.serial
        self._forget_old_batches()
        if self.rerun_child is None and not self.rewind.alarmed:
            self._trigger_after_step(check)
            self._ask_samples()
            if self.session.sentinel.step:
                self._write_postponed()
        if check is not None:
            self._phase_ends(check, may_look=self._may_look)
        if self.stage.microscope.is_on:
            self.stage.nonfinite_log.drop_reaches()
            if self.rerun_child is None and not self.triggers.is_looking:
                self._keep_forwards()
            self.stage.begin_step(self.session.sentinel.step + 1)

    def is_quiet(self) -> bool:
        """Tell whether nothing is going on that needs the sentinel's whole attention."""
        return (
            self.rerun_child is None
            and self.rewind.state == "watching"
            and not self.rewind.alarmed
            and not self.stage.microscope.is_busy
            and self.triggers.is_idle
            and not self.session.has_postponed
            and self.caught_exceptions.is_resting
        )

    def copies_after_steps(self) -> tuple[bool, RandomState | None]:
        """Tell whether something is kept for a replay after each step; the random state, where it is only that."""
        snapshot = self.stage.snapshot
        return snapshot.is_needed, snapshot.only_random

    def after_quiet_step(self) -> None:
        """Keep what a replay of the next step needs."""
        self.stage.snapshot.take()

    def drew_batches(self, before: int, now: int) -> int:
        """Follow a loop that does not draw one batch for one step; return the batch before which to ask again."""
        self._forget_old_batches()
        return self.caught_exceptions.drew(before, now)

    def quiet_limits(self, watched: WatchedOptimizer) -> tuple[float, int]:
        """Return the loss above which, and the number of steps after which, it wants to know the losses."""
        return self.triggers.limits(watched)

    def take_quiet_losses(self, watched: WatchedOptimizer, losses: list[float]) -> None:
        """Take the losses of some steps in."""
        self.triggers.take(watched, losses)

    def bad_backward(self, check: Check) -> None:
        """Act on a bad loss in a program that has no optimizer."""
        self._bad_step(check)

    def loss_was_read(self, loss: torch.Tensor) -> None:
        """In a rerun that looks for a loss the program itself gave up on, this is the moment."""
        if self.rerun_child is not None:
            self.rerun_child.loss_was_read(loss)

    def program_compiles(self) -> None:
        """An active mode would make compiled code run eagerly and give other bits: step aside."""
        self.stage.compiles = True
        self.caught_exceptions.program_compiles()
        if self.rewind.state == "watching":
            self.stage.step_back("the program compiles its model")

    def program_died(self, error: BaseException) -> Callable[[], object] | None:
        """Return the look at an uncaught exception, to be taken when the user has seen the traceback."""
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            return None
        frames = frames_of(error.__traceback__)
        told = told_error(error)
        return lambda: self._look_at_exception(error, frames, told)

    def _look_at_exception(
        self, error: BaseException, frames: list[TracebackFrame], told: BaseException
    ) -> None:
        self.caught_exceptions.program_died(error)
        bad = refused_values.refused_values(error, frames)
        if self.rerun_child is not None:
            if bad:
                self.rerun_child.values_were_refused(bad)
            return
        if told is not error:
            frames = frames_of(told.__traceback__)
        self.session.write(post_mortem(self.stage, told, frames))
        if bad and not self.rewind.alarmed:
            self.rewind.alarmed = True
            refused_values.raise_alarm(self.stage, bad)

    def at_exit(self) -> None:
        """Look at what the program leaves behind."""
        protect = self.session.guests.protect
        protect("census probe", self.stage.parameter_watch.at_exit)()
        self.caught_exceptions.end()
        state = self.rewind.state
        self.rewind.leave()
        if state == "watching" and not self.rewind.alarmed:
            look_at_the_end(self.stage)
        self.leave()

    def leave(self) -> None:
        """Take everything off; also called in a forked child."""
        self.caught_exceptions.leave()
        self.stage.microscope.leave()
        self.rewind.leave()

    def _bad_step(self, check: Check) -> None:
        check.bad_parameters = self.stage.bad_parameters(check)
        if self.rerun_child is not None:
            self.rerun_child.end(check)
        else:
            self.rewind.bad_step(check)

    def _look_at_written(self, check: Check) -> None:
        """Judge weights right after an update, while the operations that wrote them are known."""
        bad = self.stage.bad_parameters(check) if not check.is_bad else []
        if bad or (check.has_closure and check.bad_loss):
            check.bad_parameters = bad
            self.stage.note_bad_parameters(check)
            self._bad_step(check)

    def _write_cuts_of_closure(self, losses: list[torch.Tensor]) -> None:
        """Tell of cuts when a closure hands its first loss over: before the step it had not run."""
        check = self.session.sentinel.open_check
        if check is None or check.watched is None or check.watched.steps or not check.has_closure:
            return
        fed = leaves_under(losses) if check is not self._cut_check else None
        self._cut_check = check
        if fed is not None:
            self._write_cuts(self.stage, check, fed=fed)

    def _end_long_look(self) -> None:
        """Let a closure that is called again and again in the first step go on unseen, if looking takes long.

        A bad value that is born later in that step is seen in a second run.
        """
        check = self.session.sentinel.open_check
        is_called_again = check is not None and check.has_closure and not self.triggers.is_looking
        if is_called_again and self.stage.microscope.seconds > CLOSURE_SECONDS:
            self.stage.step_back("the closure of the first step was seen, and is called again")

    def _end_look_without_step(self) -> None:
        """Wait for an optimizer that makes no step as long as micro-batches may take, and no longer."""
        sentinel = self.session.sentinel
        has_waited = not sentinel.step and sentinel.backwards > MOST_BACKWARDS
        if has_waited and self.stage.microscope.seconds > WAITING_SECONDS:
            self.stage.step_back(f"no step came in {sentinel.backwards} backward passes")

    def _step_without_optimizer(self) -> None:
        """A program that updates by hand: each backward is a step, and the second one ends the first."""
        step = self.session.sentinel.step
        if self.rerun_child is not None:
            self.rerun_child.come_closer(step + 1)
        elif step >= MANUAL_STEPS:
            self.stage.step_back("the first steps are over")
        # Its backward belongs to this step; what runs outside of that, to the next.
        self.stage.microscope.step, self.stage.microscope.next_step = step, step + 1
        if self.stage.microscope.is_on and step:
            self.stage.nonfinite_log.drop_reaches()

    def _close_first_step(self) -> None:
        sentinel = self.session.sentinel
        if not self.stage.microscope.is_on:
            return
        if self.rerun_child is not None and self.rerun_child.is_close(sentinel.step + 1):
            return
        if self.triggers.is_looking or self.observations.is_looking:
            return
        waiting = [watched for watched in sentinel.optimizers.all() if not watched.steps]
        if len(waiting) <= 1 or sentinel.step >= 2 * sentinel.optimizers.count:
            self.stage.step_back("the first step is over")

    def _forget_old_batches(self) -> None:
        oldest = 0
        for watched in self.session.sentinel.optimizers.all():
            mark = watched.batches_at_last_step
            if mark and (not oldest or mark < oldest):
                oldest = mark
        if oldest:
            self.session.batches.forget_before(oldest)
