"""Tries the failing step without its guilty samples: do copies of their neighbours cure it?"""

from __future__ import annotations

from torchwhy.observe.probes.batches import Batch
from torchwhy.observe.recorder import Recorder
from torchwhy.record.events import Birth, SampleTried
from torchwhy.replay.nonfinite.nonfinite_log import NonfiniteLog
from torchwhy.replay.nonfinite.program_context import LiveContext
from torchwhy.replay.step.batch_repeater import BatchRepeater, with_rows_replaced


class SampleTrial:
    """Knows the guilty samples of the trial that is under way."""

    def __init__(
        self,
        nonfinite_log: NonfiniteLog,
        context: LiveContext,
        repeater: BatchRepeater,
        recorder: Recorder,
    ) -> None:
        self._nonfinite_log = nonfinite_log
        self._context = context
        self._repeater = repeater
        self._recorder = recorder
        self._positions: list[int] = []
        self._replaced: dict[int, int] = {}

    def is_possible(self, batches: list[Batch]) -> bool:
        """Tell whether the step has one batch, with guilty samples and good ones."""
        rows = self._context.rows()
        self._positions = _guilty_positions(self._nonfinite_log.spoilers())
        good = [row for row in range(rows) if row not in self._positions]
        if len(batches) != 1 or not self._positions or not good or not batches[0].untouched():
            return False
        self._replaced = {bad: _nearest(bad, good) for bad in self._positions}
        return True

    def begin(self, batch: Batch) -> None:
        """Give the batch to the loop again, with the guilty samples replaced."""
        data = with_rows_replaced(batch.data, self._replaced, self._context.rows())
        self._repeater.begin([batch], {batch.serial: data})

    def record(self, step: int, *, cured: bool) -> None:
        """Write the outcome for each guilty sample."""
        indices = self._context.dataset_indices()
        for position in self._positions:
            index = indices[position] if indices and position < len(indices) else None
            self._recorder.write(
                SampleTried(step=step, position=position, dataset_index=index, cured=cured)
            )


def _nearest(row: int, rows: list[int]) -> int:
    return min(rows, key=lambda other: abs(other - row))


def _guilty_positions(births: list[Birth]) -> list[int]:
    """Return the batch positions of the first birth that has any."""
    return next((birth.positions for birth in births if birth.positions), [])
