"""Repeats a failing step in place: withholds its update and lets the user's own loop make the step again.

States: watching → (bad step) → waiting for the loop to repeat it → [trying it without one sample] → done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from torchwhy.observe.probes.batches import Batch, BatchKeeper
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps import gradients
from torchwhy.observe.steps.check import Check, alarm_of
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.torch_internals import world_size
from torchwhy.record.events import Replayed
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.nonfinite.data_code import DataCode
from torchwhy.replay.nonfinite.nonfinite_log import NonfiniteLog
from torchwhy.replay.nonfinite.spoiled_values import SpoiledValues
from torchwhy.replay.observing.switch import MicroscopeSwitch
from torchwhy.replay.step.batch_repeater import BatchRepeater
from torchwhy.replay.step.muted_output import MutedOutput
from torchwhy.replay.step.sample_trial import SampleTrial
from torchwhy.replay.step.snapshot import Snapshot

MOST_WAITED = 8  # steps of other optimizers, after which the repetition is given up


class Rewind:
    """Makes the user's loop repeat a bad step under the microscope, then ends it as the user asked."""

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
        muted_output: MutedOutput,
        sample_trial: SampleTrial,
        recorder: Recorder,
        state: TrainingState,
        on_failure: str,
        stop_program: Callable[[], None],
    ) -> None:
        self._microscope = microscope
        self._switch = switch
        self._nonfinite_log = nonfinite_log
        self._spoiled_values = spoiled_values
        self._data_code = data_code
        self._snapshot = snapshot
        self._batches = batches
        self._repeater = repeater
        self._muted_output = muted_output
        self._sample_trial = sample_trial
        self._recorder = recorder
        self._training = state
        self._on_failure = on_failure
        self._stop_program = stop_program
        self.state: Literal["watching", "waiting", "trying", "done"] = "watching"
        self.alarmed = False
        self._failed: Check | None = None
        self._fingerprint: list[str] = []
        self._repeated: list[Batch] = []
        self._waited = 0

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
        withholds = self._on_failure != "continue" and check.watched is not None
        microscope = self._microscope
        if microscope.is_on and not (check.bad_parameters and microscope.missed_update):
            self._raise_alarm(check, withheld=withholds)
            self._conclude(check, "first-step", reproduced=True)
        elif withholds and self._can_repeat(check):
            self._raise_alarm(check, withheld=True)
            self._wait_for_repetition(check)
        else:
            self._raise_alarm(check, withheld=withholds)
            self._finish(check)

    def after_withheld_step(self) -> None:
        """Restore the random state for a loop without a loader, so that it draws the same data again."""
        if self.state == "waiting" and not self._repeated:
            self._snapshot.restore_random_state()

    def repeated(self, check: Check) -> None:
        """Judge a repeated step: the failing one, another optimizer's before it, or the trial without a sample."""
        failed = self._failed
        if failed is None or failed.watched is None or check.watched is not failed.watched:
            self._waited += 1
            if check.watched is not None:
                check.watched.withhold()
            if self._waited > MOST_WAITED and failed is not None:
                self._finish(failed)
            return
        if self.state == "trying":
            self._sample_trial.record(check.step, cured=not check.is_bad)
            self._finish(failed)
            return
        same = self._is_same(check, failed)
        if same:
            self._spoiled_values.note_gradients(check)
        elif not check.is_bad:
            self._nonfinite_log.drop_reaches()
        self._conclude(failed, "in-place", reproduced=same)

    def leave(self) -> None:
        """Take everything off."""
        self._muted_output.end()
        self._repeater.end()
        self.state = "done"

    def _raise_alarm(self, check: Check, *, withheld: bool) -> None:
        self._failed = check
        self._recorder.write(alarm_of(check, withheld=withheld))

    def _can_repeat(self, check: Check) -> bool:
        """Tell whether the user's loop can be made to repeat this step."""
        if check.watched is None or check.bad_parameters or world_size() > 1:
            return False
        if not self._microscope.can_look:
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
        watched.withhold()
        self._snapshot.restore_buffers()
        self._nonfinite_log.drop_reaches()
        self._switch.put_on_without_limit(check.step)
        if self._repeated:
            self._repeater.begin(self._repeated)

    def _is_same(self, check: Check, failed: Check) -> bool:
        now = gradients.fingerprint(check.watched.gradients()) if check.watched else []
        return check.is_bad and check.losses == failed.losses and now == self._fingerprint

    def _conclude(
        self, check: Check, how: Literal["first-step", "in-place"], *, reproduced: bool
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
            )
        )
        if reproduced and self._try_without_sample(check):
            return
        self._finish(check)

    def _finish(self, check: Check) -> None:
        """Take the microscope off and treat the update as the user asked."""
        if check.watched is not None and self._on_failure != "continue":
            check.watched.withhold()
        self._microscope.leave()
        self._muted_output.end()
        self._repeater.end()
        self._switch.end_eager()
        self._snapshot.restore_buffers()
        self._training.frozen = False
        self.state = "watching"
        if self._on_failure == "stop":
            self.state = "done"
            self._stop_program()

    def _keep_out(self, check: Check) -> None:
        """Withhold and record a bad step after the first one, if the user asked to skip them."""
        if check.watched is not None and self._on_failure == "skip":
            check.watched.withhold()
            self._recorder.write(alarm_of(check, withheld=True))
        elif self._on_failure == "stop":
            self._finish(check)

    def _try_without_sample(self, check: Check) -> bool:
        """Have the loop make the step again with the guilty samples replaced; False if that is not possible."""
        if check.watched is None or self._on_failure == "continue" or check.bad_parameters:
            return False
        batches = self._repeated or self._batches.since(check.watched.batches_at_last_step)
        if not self._sample_trial.is_possible(batches):
            return False
        self._failed, self.state = check, "trying"
        self._training.frozen = True
        self._microscope.leave()
        check.watched.withhold()
        self._snapshot.restore_buffers()
        self._sample_trial.begin(batches[0])
        return True
