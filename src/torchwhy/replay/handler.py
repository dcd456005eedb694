"""The handler that the boot wires into observe: when is the microscope on, and who acts on a bad step?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from torchwhy.observe.steps.random_state import RandomState
from torchwhy.observe.steps.sentinel import Check
from torchwhy.replay.crash.caught_exceptions import Swallowed
from torchwhy.replay.crash.frames.traceback_frames import Spot, spots_of, told_error
from torchwhy.replay.crash.post_mortem import post_mortem
from torchwhy.replay.equipment import Stage
from torchwhy.replay.experiments.sample_independence import Samples
from torchwhy.replay.graph.graph_cuts import leaves_under, write_cuts
from torchwhy.replay.microscope.backward_log import is_torchs_own, note_update
from torchwhy.replay.nonfinite import refused_values
from torchwhy.replay.nonfinite.at_exit import look_at_the_end
from torchwhy.replay.parameters.census import write_census
from torchwhy.replay.parameters.freezes import statements_found
from torchwhy.replay.parameters.manual_updates import HandUpdates
from torchwhy.replay.step.rerun_child import SecondLook
from torchwhy.replay.step.rewind import Rewind
from torchwhy.replay.triggers.observations import Phases
from torchwhy.replay.triggers.step_triggers import Signals

if TYPE_CHECKING:
    from torchwhy.observe.session import Session
    from torchwhy.observe.steps.watched_optimizers import Watched

CLOSURE_SECONDS = 0.5  # of looking, after which a closure is not looked at again
MOST_BACKWARDS, WAITING_SECONDS = (
    16,
    1.0,
)  # of looking, in which an optimizer that was made should make a step
HAND_STEPS = 3  # backward passes seen in a program without optimizer: its update by hand lies between two of them


class Replay:
    """Passes on what the sentinel tells: to the rewind in a run, to the second look in a rerun."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.stage = Stage(session)
        self.rewind = Rewind(self.stage)
        protect = session.guests.protect
        self.phases = Phases(self.stage)
        self._phase_begins = protect("phase probe", self.phases.optimizer_made)
        self._phase_ends = protect("phase probe", self.phases.after_step)
        self._note_holder = protect("phase probe", self.stage.known.held_by)
        self._write_graph = protect("graph probe", self.stage.graph.write_ancestors)
        self._write_postponed = protect("graph probe", session.write_postponed)
        self._write_census = protect("census probe", write_census)
        self._cut_check: Check | None = None
        self._keep_forwards = protect("graph probe", self.stage.keep_forwards)
        self._follow = protect("census probe", self.stage.followed.after_step)
        self._write_cuts = protect("graph probe", write_cuts)
        self._note_hand_update = protect("update probe", HandUpdates(self.stage).before_backward)
        self.samples = Samples(self.stage)
        self._choose_samples = protect("samples experiment", self.samples.choose)
        self._ask_samples = protect("samples experiment", self.samples.ask)
        self.second_look = SecondLook(self.stage) if session.rerun_step is not None else None
        self.swallowed = Swallowed(self.stage)
        self._count_swallowed = protect("exception watch", self.swallowed.after_step)
        self.signals = Signals(self.stage)
        self._signal_backward = protect("signals", self.signals.before_backward)
        self._signal_step = protect("signals", self.signals.after_step)

    def begin(self) -> None:
        """Put the microscope on: everything before the first step, and the first step, is seen."""
        self.stage.begin()
        if self.second_look is None:
            self.signals.curvature.install()
            self.samples.install()
            protect = self.session.guests.protect
            self.session.modes.when_lost = protect("exception watch", self.swallowed.lost_one)

    def optimizer_made(self) -> None:
        """Training is about to begin: from now on exceptions that the program swallows are of interest."""
        if self.second_look is None:
            self.swallowed.begin()
            self._phase_begins(may_look=self._may_look)

    @property
    def _may_look(self) -> bool:
        """Tell whether nobody else has a use for the microscope."""
        return (
            self.second_look is None
            and self.rewind.state == "watching"
            and not self.rewind.alarmed
            and self.signals.is_idle
            and not self.signals.curvature.is_running
        )

    def before_backward(self, losses: list[torch.Tensor], *, accumulates: bool = True) -> None:
        """Note which births the losses descend from; `torch.autograd.grad` accumulates nothing and is no loss."""
        if self.signals.curvature.is_running:
            return  # our own differentiation
        self.stage.microscope.resume()
        self.stage.microscope.film.begin()
        if not self.session.sentinel.optimizers.any_made:
            self._step_without_optimizer()
            self._note_hand_update(losses)
        if (
            self.stage.microscope.is_on
            and not self.rewind.is_repeating
            and not self.signals.is_looking
        ):
            self._write_graph(losses, accumulates=accumulates)
            self._write_cuts_of_closure(losses)
        self.stage.note_bad_losses(losses)
        if accumulates and self.second_look is None and not self.rewind.is_repeating:
            self._signal_backward(losses)
            self._end_long_look()
            self._end_look_without_step()
            self.phases.after_backward()

    def before_step(self, check: Check) -> None:
        """Act on the verdict about the step that is about to write."""
        watched = check.watched
        if watched is not None and not watched.steps:
            self._note_holder(watched.index, watched.parameters())
        if watched is not None and self.phases.wants(watched) and not self.signals.is_looking:
            self._look_at_parameters(check, watched)
        if self.rewind.is_repeating:
            self.rewind.repeated(check)
        elif check.is_bad and not check.has_closure:
            self.stage.note_bad_gradients(check)
            self._bad_step(check)
        elif self.second_look is not None:
            self.second_look.come_closer(check.step + 1)
        elif check.watched is not None and not check.has_closure and not check.is_bad:
            self._step_aside_for(check.watched)

    def _look_at_parameters(self, check: Check, watched: Watched) -> None:
        """Write who feeds the loss and who does not, before the first step of an optimizer."""
        self.phases.saw(watched)
        self._write_census(self.stage, check, phase=self.phases.optimizers)
        self._write_cuts(self.stage, check)
        if any(gradient is not None for gradient in watched.gradients()):
            self._cut_check = check
        if not self.stage.phase:
            self._choose_samples()

    def _step_aside_for(self, watched: Watched) -> None:
        """Let an optimizer of torch write unseen: gradients are fine, and what it does to them is well known."""
        microscope = self.stage.microscope
        if microscope.glances and not self.stage.book.is_open and is_torchs_own(watched.optimizer):
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
        self._count_swallowed()
        self.stage.snapshot.take()
        if check is not None and check.watched is not None:
            check.watched.batches_at_last_step = self.session.batches.serial
        self._forget_old_batches()
        if self.second_look is None and not self.rewind.alarmed:
            self._signal_step(check)
            self._ask_samples()
            if self.session.sentinel.step:
                self._write_postponed()
        if check is not None:
            self._phase_ends(check, may_look=self._may_look)
        if self.stage.microscope.is_on:
            self.stage.book.drop_reaches()
            if self.second_look is None and not self.signals.is_looking:
                self._keep_forwards()
            self.stage.begin_step(self.session.sentinel.step + 1)

    def is_quiet(self) -> bool:
        """Tell whether nothing is going on that needs the sentinel's whole attention."""
        return (
            self.second_look is None
            and self.rewind.state == "watching"
            and not self.rewind.alarmed
            and not self.stage.microscope.is_busy
            and self.signals.is_idle
            and not self.session.has_postponed
            and self.swallowed.is_resting
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
        return self.swallowed.drew(before, now)

    def quiet_limits(self, watched: Watched) -> tuple[float, int]:
        """Return the loss above which, and the number of steps after which, it wants to know the losses."""
        return self.signals.limits(watched)

    def take_quiet_losses(self, watched: Watched, losses: list[float]) -> None:
        """Take the losses of some steps in."""
        self.signals.take(watched, losses)

    def bad_backward(self, check: Check) -> None:
        """Act on a bad loss in a program that has no optimizer."""
        self._bad_step(check)

    def loss_was_read(self, loss: torch.Tensor) -> None:
        """In a rerun that looks for a loss the program itself gave up on, this is the moment."""
        if self.second_look is not None:
            self.second_look.loss_was_read(loss)

    def program_compiles(self) -> None:
        """An active mode would make compiled code run eagerly and give other bits: step aside."""
        self.stage.compiles = True
        self.swallowed.program_compiles()
        if self.rewind.state == "watching":
            self.stage.step_back("the program compiles its model")

    def program_died(self, error: BaseException) -> Callable[[], object] | None:
        """Return the look at an uncaught exception, to be taken when the user has seen the traceback."""
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            return None
        spots = spots_of(error.__traceback__)
        told = told_error(error)
        return lambda: self._look_at_exception(error, spots, told)

    def _look_at_exception(
        self, error: BaseException, spots: list[Spot], told: BaseException
    ) -> None:
        self.swallowed.program_died(error)
        bad = refused_values.refused_values(error, spots)
        if self.second_look is not None:
            if bad:
                self.second_look.values_were_refused(bad)
            return
        if told is not error:
            spots = spots_of(told.__traceback__)
        self.session.write(post_mortem(self.stage, told, spots))
        if bad and not self.rewind.alarmed:
            self.rewind.alarmed = True
            refused_values.raise_alarm(self.stage, bad)

    def at_exit(self) -> None:
        """Look at what the program leaves behind."""
        protect = self.session.guests.protect
        protect("census probe", self.stage.followed.at_exit)()
        protect("census probe", self._tell_statements)()
        self.swallowed.end()
        state = self.rewind.state
        self.rewind.leave()
        if state == "watching" and not self.rewind.alarmed:
            look_at_the_end(self.stage)
        self.leave()

    def _tell_statements(self) -> None:
        """Read the source at the end: in the first step it would be waited for, and most runs never ask."""
        if self.session.sentinel.optimizers.any_made:
            found = statements_found(self.session.sentinel.step, frozen=self.stage.is_frozen)
            self.session.write(found)

    def leave(self) -> None:
        """Take everything off; also called in a forked child."""
        self.swallowed.leave()
        self.stage.microscope.leave()
        self.rewind.leave()

    def _bad_step(self, check: Check) -> None:
        check.bad_parameters = self.stage.bad_parameters(check)
        if self.second_look is not None:
            self.second_look.end(check)
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
        is_called_again = check is not None and check.has_closure and not self.signals.is_looking
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
        if self.second_look is not None:
            self.second_look.come_closer(step + 1)
        elif step >= HAND_STEPS:
            self.stage.step_back("the first steps are over")
        # Its backward belongs to this step; what runs outside of that, to the next.
        self.stage.microscope.step, self.stage.microscope.next_step = step, step + 1
        if self.stage.microscope.is_on and step:
            self.stage.book.drop_reaches()

    def _close_first_step(self) -> None:
        sentinel = self.session.sentinel
        if not self.stage.microscope.is_on:
            return
        if self.second_look is not None and self.second_look.is_close(sentinel.step + 1):
            return
        if self.signals.is_looking or self.phases.is_looking:
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
