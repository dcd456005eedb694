"""Tries the failing step without its guilty samples: do copies of their neighbours cure it?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
        keep_values: Callable[..., Any],
    ) -> None:
        self._nonfinite_log = nonfinite_log
        self._context = context
        self._repeater = repeater
        self._recorder = recorder
        self._keep_values = keep_values
        self._guilty: Birth | None = None
        self._positions: list[int] = []
        self._replaced: dict[int, int] = {}

    def is_possible(self, batches: list[Batch]) -> bool:
        """Tell whether the step has one batch, with guilty samples and good ones."""
        rows = self._context.rows()
        self._guilty = self._first_with_samples()
        self._positions = self._guilty.positions if self._guilty is not None else []
        good = [row for row in range(rows) if row not in self._positions]
        if len(batches) != 1 or not self._positions or not good or not batches[0].untouched():
            return False
        used = self._nonfinite_log.batches.get(self._guilty.id) if self._guilty else None
        if used is not None and used.serial != batches[0].serial:
            return False  # a loader that fetches ahead: this one is for a later step
        self._replaced = {bad: _nearest(bad, good) for bad in self._positions}
        return True

    def begin(self, batch: Batch, step: int) -> None:
        """Give the batch to the loop again, with the guilty samples replaced."""
        self._keep_values(batch, self._replaced, size=self._context.rows(), step=step)
        data = with_rows_replaced(batch.data, self._replaced, self._context.rows())
        self._repeater.begin([batch], {batch.serial: data})

    def record(self, step: int, *, cured: bool) -> None:
        """Write the outcome for each guilty sample."""
        indices = self._guilty.dataset_indices if self._guilty is not None else []
        for place, position in enumerate(self._positions):
            index = indices[place] if place < len(indices) else None
            self._recorder.write(
                SampleTried(step=step, position=position, dataset_index=index, cured=cured)
            )

    def _first_with_samples(self) -> Birth | None:
        """Return the first birth whose samples are known."""
        return next((b for b in self._nonfinite_log.spoilers() if b.positions), None)


def _nearest(row: int, rows: list[int]) -> int:
    return min(rows, key=lambda other: abs(other - row))
