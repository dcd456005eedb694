"""The failing step in place: withhold the update, give the same batches again, let the user's own loop repeat it.

States: watching → (bad step) → waiting for the loop to repeat it → [trying it without one sample] → done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchwhy.observe.steps import gradients
from torchwhy.observe.steps.sentinel import Check
from torchwhy.observe.torch_features.torch_internals import force_eager, world_size
from torchwhy.record.events import Birth, Replayed, SampleTried
from torchwhy.replay.equipment import Stage
from torchwhy.replay.nonfinite.data_code import look_into_data_code
from torchwhy.replay.step.batch_repeater import BatchRepeater, MutedOutput, with_rows_replaced

if TYPE_CHECKING:
    from torchwhy.observe.probes.batches import Batch

MOST_WAITED = 8  # optimizer steps of other optimizers before the repeated step is given up


class Rewind:
    """Makes the user's loop do a bad step once more under the microscope, then ends it as the user asked."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.session = stage.session
        self.state = "watching"
        self.alarmed = False
        self._batch_repeater = BatchRepeater()
        self._muted_output = MutedOutput()
        self._batch_repeater.on_first = self._muted_output.begin
        stage.context.repeated_batch = lambda: self._batch_repeater.newest
        self._failed: Check | None = None
        self._prints: list[str] = []
        self._batches: list[Batch] = []
        self._positions: list[int] = []
        self._waited = 0

    @property
    def is_repeating(self) -> bool:
        """Tell whether the user's loop is at a step that was there before."""
        return self.state in ("waiting", "trying")

    def bad_step(self, check: Check) -> None:
        """Raise the alarm and see the step again, or conclude at once when it was seen already."""
        if self.alarmed:
            self._keep_out(check)
            return
        self.alarmed = True
        withholds = self.session.on_failure != "continue" and check.watched is not None
        microscope = self.stage.microscope
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
        """A loop without loader draws its data anew: from the same random state, so the same data."""
        if self.state == "waiting" and not self._batches:
            self.stage.snapshot.restore_random_state()

    def repeated(self, check: Check) -> None:
        """Take what the loop did again: the failing step, another optimizer's before it, or a trial."""
        failed = self._failed
        if failed is None or failed.watched is None or check.watched is not failed.watched:
            self._waited += 1
            if check.watched is not None:
                check.watched.withhold()
            if self._waited > MOST_WAITED and failed is not None:
                self._finish(failed)
            return
        if self.state == "trying":
            self._sample_was_tried(check)
            return
        same = self._is_same(check, failed)
        if same:
            self.stage.note_bad_gradients(check)
        elif not check.is_bad:
            self.stage.nonfinite_log.drop_reaches()
        self._conclude(failed, "in-place", reproduced=same)

    def leave(self) -> None:
        """Take everything off."""
        self._muted_output.end()
        self._batch_repeater.end()
        self.state = "done"

    def _raise_alarm(self, check: Check, *, withheld: bool) -> None:
        self._failed = check
        self.session.sentinel.alarm(check, withheld=withheld)

    def _can_repeat(self, check: Check) -> bool:
        """Tell whether the user's loop can be made to do this step again."""
        if check.watched is None or check.bad_parameters or world_size() > 1:
            return False
        if not self.stage.microscope.can_look:
            return False
        self._batches = self.session.batches.since(check.watched.batches_at_last_step)
        drawn = self.session.batches.serial - check.watched.batches_at_last_step
        return len(self._batches) == drawn and all(batch.untouched() for batch in self._batches)

    def _wait_for_repetition(self, check: Check) -> None:
        watched = check.watched
        if watched is None:
            return
        self._prints = gradients.fingerprint(watched.gradients())
        self.state = "waiting"
        self.session.sentinel.frozen = True
        watched.withhold()
        self.stage.snapshot.restore_buffers()
        self.stage.nonfinite_log.drop_reaches()
        self.stage.look_without_limit(check.step)
        if self._batches:
            self._batch_repeater.begin(self._batches)

    def _is_same(self, check: Check, failed: Check) -> bool:
        prints = gradients.fingerprint(check.watched.gradients()) if check.watched else []
        return check.is_bad and check.losses == failed.losses and prints == self._prints

    def _conclude(self, check: Check, how: Any, *, reproduced: bool) -> None:
        """Write what was seen of the bad step, try it without the guilty sample if there is one, and end."""
        eager = self.stage.compiles and how == "in-place"
        if reproduced:
            look_into_data_code(self.stage)
            self.stage.nonfinite_log.write_all()
        detail = "" if reproduced else "the repeated step gave other numbers than the first time"
        self.session.write(
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
        """Leave the microscope and do with the update what the user asked for."""
        if check.watched is not None and self.session.on_failure != "continue":
            check.watched.withhold()
        self.stage.microscope.leave()
        self._muted_output.end()
        self._batch_repeater.end()
        if self.stage.compiles:
            force_eager(on=False)
        self.stage.snapshot.restore_buffers()
        self.session.sentinel.frozen = False
        self.state = "watching"
        if self.session.on_failure == "stop":
            self.state = "done"
            self.session.stop_program()

    def _keep_out(self, check: Check) -> None:
        """After the first bad step, with `skip`: later ones are only withheld and noted."""
        if check.watched is not None and self.session.on_failure == "skip":
            check.watched.withhold()
            self.session.sentinel.alarm(check, withheld=True)
        elif self.session.on_failure == "stop":
            self._finish(check)

    def _try_without_sample(self, check: Check) -> bool:
        """Ask the loop for the step once more, the guilty samples replaced by copies of their neighbours."""
        if check.watched is None or self.session.on_failure == "continue" or check.bad_parameters:
            return False
        batches = self._batches or self.session.batches.since(check.watched.batches_at_last_step)
        rows = self.stage.context.rows()
        self._positions = _guilty_positions(self.stage.nonfinite_log.spoilers())
        good = [row for row in range(rows) if row not in self._positions]
        if len(batches) != 1 or not self._positions or not good or not batches[0].untouched():
            return False
        replaced = {bad: _nearest(bad, good) for bad in self._positions}
        self._failed, self.state = check, "trying"
        self.session.sentinel.frozen = True
        self.stage.microscope.leave()
        check.watched.withhold()
        self.stage.snapshot.restore_buffers()
        data = with_rows_replaced(batches[0].data, replaced, rows)
        self._batch_repeater.begin(batches, {batches[0].serial: data})
        return True

    def _sample_was_tried(self, check: Check) -> None:
        indices = self.stage.context.dataset_indices()
        for position in self._positions:
            index = indices[position] if indices and position < len(indices) else None
            self.session.write(
                SampleTried(
                    step=check.step, position=position, dataset_index=index, cured=not check.is_bad
                )
            )
        self._finish(self._failed or check)


def _nearest(row: int, rows: list[int]) -> int:
    return min(rows, key=lambda other: abs(other - row))


def _guilty_positions(births: list[Birth]) -> list[int]:
    """Return the batch positions of the first birth that has any."""
    return next((birth.positions for birth in births if birth.positions), [])
