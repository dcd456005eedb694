"""Repeats a failing step in place: withholds its update and lets the user's own loop make the step again.

A loop over a DataLoader gets its batches again; the body of any other loop is run again with the item it has.

States: watching → (bad step) → waiting for the loop to repeat it → [trying it without one sample] → done.
Only a program that ends then is repeated: the loop would move schedules, counters and generators of its own further.
A program that goes on is left alone but for the withheld update, and a second run explains the step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from torchwhy.observe.probes.batches import Batch, BatchKeeper
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps import gradients
from torchwhy.observe.steps.check import Check, alarm_of
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.torch_internals import world_size
from torchwhy.record.events import Replayed
from torchwhy.record.events import StepInputs as InputsSeen
from torchwhy.record.numbers import is_finite
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.nonfinite.data_code import DataCode
from torchwhy.replay.nonfinite.nonfinite_log import NonfiniteLog
from torchwhy.replay.nonfinite.spoiled_values import SpoiledValues
from torchwhy.replay.observing.switch import MicroscopeSwitch
from torchwhy.replay.samples.reachable_arrays import reachable_arrays
from torchwhy.replay.step.batch_repeater import BatchRepeater
from torchwhy.replay.step.loop_repeater import LoopRepeater
from torchwhy.replay.step.muted_output import MutedOutput
from torchwhy.replay.step.rank_agreement import RankAgreement
from torchwhy.replay.step.sample_trial import SampleTrial
from torchwhy.replay.step.snapshot import Snapshot
from torchwhy.replay.step.step_inputs import StepInputs, shown
from torchwhy.replay.step.withheld_update import WithheldUpdate

MOST_WAITED = 8  # steps of other optimizers, after which the repetition is given up


class Keeping(Protocol):
    """Keeps what is worth keeping of a failing step; never raises."""

    def note(self, check: Check, batches: list[Batch]) -> None: ...
    def write(self, check: Check) -> None: ...
    def skipped(self, check: Check, batches: list[Batch]) -> None: ...


class Rewind:
    """Makes the user's loop repeat a bad step under the microscope, then ends it as the user asked."""

    alarmed = False
    _waited = 0
    _drawn = 0  # batches, when the trial without a sample began
    _is_together = False  # all ranks found the step bad, and end together
    _runs_body = False  # the body of the loop runs again, without a loader's help

    def __init__(
        self,
        microscope: Microscope,
        switch: MicroscopeSwitch,
        *,
        nonfinite_log: NonfiniteLog,
        spoiled_values: SpoiledValues,
        data_code: DataCode,
        snapshot: Snapshot,
        batches: BatchKeeper,
        repeater: BatchRepeater,
        loop_repeater: LoopRepeater,
        muted_output: MutedOutput,
        sample_trial: SampleTrial,
        withheld_update: WithheldUpdate,
        ranks: RankAgreement,
        keeping: Keeping,
        recorder: Recorder,
        tell_position: Callable[[Check], object],
        state: TrainingState,
        on_failure: str,
        stop_program: Callable[..., None],
    ) -> None:
        self._microscope = microscope
        self._switch = switch
        self._nonfinite_log = nonfinite_log
        self._spoiled_values = spoiled_values
        self._data_code = data_code
        self._snapshot = snapshot
        self._batches = batches
        self._repeater = repeater
        self._loop_repeater = loop_repeater
        self._muted_output = muted_output
        self._sample_trial = sample_trial
        self.withheld_update = withheld_update
        self._ranks = ranks
        self._keeping = keeping
        self._recorder = recorder
        self._tell_position = tell_position
        self._training = state
        self._program_ends = on_failure == "stop"
        self.skips_updates = on_failure == "skip"
        self._stop_program = stop_program
        self.state: Literal["watching", "waiting", "trying", "done"] = "watching"
        self._failed: Check | None = None
        self._fingerprint: list[str] = []
        self._repeated: list[Batch] = []
        self._inputs: StepInputs | None = None
        self.when_ended: Callable[[], object] = lambda: None

    @property
    def is_idle(self) -> bool:
        """Tell whether no step has failed so far."""
        return self.state == "watching" and not self.alarmed

    @property
    def is_repeating(self) -> bool:
        """Tell whether the user's loop makes a step again."""
        return self.state in ("waiting", "trying")

    def bad_step(self, check: Check) -> None:
        """Raise the alarm and have the step repeated, or conclude at once if the microscope saw it."""
        if self.alarmed:
            self._keep_out(check)
            return
        self.alarmed = True
        withholds = check.watched is not None and (self._program_ends or self.skips_updates)
        microscope = self._microscope
        if microscope.is_on and not (check.bad_parameters and microscope.missed_update):
            self._raise_alarm(check, withheld=withholds)
            self._conclude(check, "first-step", reproduced=True)
        elif self._program_ends and self._all_can_repeat(check):
            self._raise_alarm(check, withheld=True)
            self._wait_for_repetition(check)
        else:
            self._raise_alarm(check, withheld=withholds)
            self._finish(check)

    def after_withheld_step(self) -> None:
        """Restore the random state for a loop without a loader, so that it draws the same data again."""
        if self.state == "waiting" and not self._repeated and not self._runs_body:
            self._snapshot.restore_random_state()

    def repeated(self, check: Check) -> None:
        """Judge a repeated step: the failing one, another optimizer's before it, or the trial without a sample."""
        failed = self._failed
        if failed is None or failed.watched is None or check.watched is not failed.watched:
            self._waited += 1
            if check.watched is not None:
                self.withheld_update.withhold(check.watched)
            if self._waited > MOST_WAITED and failed is not None:
                self._finish(failed)
            return
        if self.state == "trying":
            # A batch drawn since then means that the program caught an exception and left the trial.
            if self._batches.serial == self._drawn:
                self._sample_trial.record(check.step, cured=not check.is_bad)
            self._finish(failed)
            return
        self._loop_repeater.end()
        inputs, earlier = StepInputs(), self._inputs
        moved = inputs.moved(earlier) if earlier is not None else []
        draws_the_same = earlier is not None and inputs.draws_the_same(earlier)
        same = self._is_same(check, failed) or (
            draws_the_same and not moved and self._is_last_part(check, failed)
        )
        if same:
            self._spoiled_values.note_gradients(check)
        elif not check.is_bad:
            self._nonfinite_log.drop_reaches()
        # Without a loader's batches, data may come from where no variable shows it.
        # Compiled code draws in its own way.
        draws = draws_the_same or self._switch.compiles
        faithful = draws and not moved and bool(self._repeated) and not self._runs_body
        self._conclude(failed, "in-place", reproduced=same, faithful=faithful, moved=moved)

    def at_exit(self) -> None:
        """Keep the step if the program ended while it repeated it, and take everything off."""
        if self.is_repeating and self._failed is not None:
            self._snapshot.restore_buffers()
            self._keeping.write(self._failed)
        self.leave()

    def leave(self) -> None:
        """Take everything off."""
        self._muted_output.end()
        self._repeater.end()
        self._loop_repeater.end()
        self._inputs = None
        self.state = "done"

    def _raise_alarm(self, check: Check, *, withheld: bool) -> None:
        self._failed = check
        check.is_compiled = check.is_compiled or self._training.in_compiled_code
        self._recorder.write(alarm_of(check, withheld=withheld))
        self._tell_position(check)
        if self._program_ends:
            self._keeping.note(check, self._batches_of(check))
        elif withheld:
            self._keeping.skipped(check, self._batches_of(check))
        self._inputs = StepInputs()
        self._recorder.write(InputsSeen(step=check.step, digests=self._inputs.digests()))

    def _all_can_repeat(self, check: Check) -> bool:
        """Tell whether the loop of every rank can be made to repeat this step, all in the same way.

        A repeated step waits for the other ranks as any step does, so one that is fine must not be left behind.
        """
        can_repeat = self._can_repeat(check)
        self._runs_body = can_repeat and self._can_run_body()
        if world_size() == 1:
            return can_repeat
        way = "not" if not can_repeat else "body" if self._runs_body else "batches"
        if not self._ranks.agree(f"repeat step {check.step}", way):
            return False
        self._is_together = True
        return can_repeat

    def _batches_of(self, check: Check) -> list[Batch]:
        watched = check.watched
        return [] if watched is None else self._batches.since(watched.batches_at_last_step)

    def _can_repeat(self, check: Check) -> bool:
        """Tell whether the user's loop can be made to repeat this step."""
        if check.watched is None or check.bad_parameters:
            return False
        if not self._microscope.can_look or self._training.in_compiled_code:
            return False
        last = check.watched.batches_at_last_step
        self._repeated = self._batches.since(last)
        drawn = self._batches.serial - last
        return len(self._repeated) == drawn and all(batch.untouched() for batch in self._repeated)

    def _wait_for_repetition(self, check: Check) -> None:
        watched = check.watched
        if watched is None:
            return
        self._fingerprint = gradients.fingerprint(watched.gradients())
        self.state = "waiting"
        self._training.frozen = True
        self.withheld_update.withhold(watched)
        self._snapshot.restore_buffers()
        self._nonfinite_log.drop_reaches()
        self._switch.put_on_without_limit(check.step)
        if self._runs_body:
            self._loop_repeater.begin(self._before_body, self._moved_on)
        elif self._repeated:
            self._repeater.begin(self._repeated)

    def _can_run_body(self) -> bool:
        """Tell whether the body of the loop can run again; with a loader, only if it has fetched a later batch."""
        if self._switch.compiles or not self._loop_repeater.prepare():
            return False
        if not self._repeated:
            return True
        return self._batches.asked_by_generator and not (
            self._loop_repeater.carries or any(map(_is_held, self._repeated))
        )

    def _before_body(self) -> None:
        self._muted_output.begin()
        if self._repeated:
            self._repeated[-1].random_state.put_back()
        else:
            self._snapshot.restore_random_state()

    def _moved_on(self) -> None:
        """Give the repetition up: the loop went on without making the step."""
        failed = self._failed
        if failed is not None and self.state == "waiting":
            self._nonfinite_log.drop_reaches()
            self._conclude(failed, "in-place", reproduced=False, faithful=False)

    def _is_last_part(self, check: Check, failed: Check) -> bool:
        """Tell whether a body that makes the last of several backward passes of a step failed as it did before."""
        losses, count = failed.losses, len(check.losses)
        is_part = self._runs_body and 0 < count < len(losses) and losses[-count:] == check.losses
        return is_part and check.is_bad and all(map(is_finite, losses[:-count]))

    def _is_same(self, check: Check, failed: Check) -> bool:
        now = gradients.fingerprint(check.watched.gradients()) if check.watched else []
        return check.is_bad and check.losses == failed.losses and now == self._fingerprint

    def _conclude(
        self,
        check: Check,
        how: Literal["first-step", "in-place"],
        *,
        reproduced: bool,
        faithful: bool | None = None,
        moved: Sequence[str] = (),
    ) -> None:
        """Write the births of the bad step, try it without the guilty sample if there is one, and finish."""
        eager = self._switch.compiles and how == "in-place"
        if reproduced:
            self._data_code.look()
            self._nonfinite_log.write_all()
        detail = "" if reproduced else "the repeated step gave other numbers than the first time"
        self._recorder.write(
            Replayed(
                step=check.step,
                how=how,
                reproduced=reproduced,
                detail=detail,
                eager_of_compiled=eager,
                faithful=faithful,
                moved=[] if reproduced else sorted({shown(name) for name in moved}),
            )
        )
        if reproduced and self._try_without_sample(check):
            return
        self._finish(check)

    def _finish(self, check: Check) -> None:
        """Take the microscope off and treat the update as the user asked."""
        self._microscope.leave()
        self._muted_output.end()
        self._repeater.end()
        self._loop_repeater.end()
        self._inputs = None
        if self.is_repeating:
            self._switch.end_eager()
        self._training.frozen = False
        self.state = "watching"
        self.when_ended()
        self._repeated, self._failed = [], None
        if self.skips_updates or self._program_ends:
            self._undo(check)
        if self._program_ends:
            self._keeping.write(check)
            self.state = "done"
            if self._is_together:
                self._ranks.meet(f"stop after step {check.step}")
            self._stop_program(follows=self._is_received(check))

    def _is_received(self, check: Check) -> bool:
        """Tell whether the bad values of a step came from other ranks; a rank that alone found them follows nobody."""
        origins = {birth.origin for birth in self._nonfinite_log.spoilers()}
        if world_size() == 1 or check.bad_loss or origins - {"rank"}:
            return False
        return self._is_together or bool(origins)

    def _undo(self, check: Check) -> None:
        """Withhold the update, and put the buffers back that the batch has changed."""
        if check.watched is not None:
            self.withheld_update.withhold(check.watched)
            self._snapshot.restore_buffers()

    def _keep_out(self, check: Check) -> None:
        """Treat a bad step after the first one as the user asked."""
        if self.skips_updates and check.watched is not None:
            self._recorder.write(alarm_of(check, withheld=True))
            self._keeping.skipped(check, self._batches_of(check))
            self._undo(check)
        elif self._program_ends:
            self._finish(check)

    def _try_without_sample(self, check: Check) -> bool:
        """Have the loop make the step again with the guilty samples replaced; False if that is not possible.

        Another sample may not fit into the batch, and the exception would end a program that is to go on. Of several
        ranks, one alone cannot make a step.
        """
        if check.watched is None or not self._program_ends or check.bad_parameters:
            return False
        if world_size() > 1:
            return False
        batches = self._repeated or self._batches.since(check.watched.batches_at_last_step)
        if not self._sample_trial.is_possible(batches):
            return False
        self._failed, self.state = check, "trying"
        self._drawn = self._batches.serial
        self._training.frozen = True
        self._microscope.leave()
        self.withheld_update.withhold(check.watched)
        self._snapshot.restore_buffers()
        self._sample_trial.begin(batches[0], check.step)
        return True


def _is_held(batch: Batch) -> bool:
    """Tell whether the program's variables hold a tensor of a batch, so that the batch is in use."""
    held = {array.address for array in reachable_arrays()}
    return any(leaf.numel() and leaf.data_ptr() in held for _, leaf in batch.leaves())
