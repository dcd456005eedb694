"""Makes a bad batch again under the microscope, to find the line of data code that made the bad value.

Only in a program that is about to end, because its dataset's own code runs again. A batch that is drawn anew at random
and is finite the second time says nothing.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any

from torchwhy.observe.probes.batches import leaves_of
from torchwhy.observe.program import seeds
from torchwhy.observe.program.exceptions import user_location
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps import gradients
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.loader_parts import fetch_again
from torchwhy.record.events import ArrayWarning, Birth
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.nonfinite import stream
from torchwhy.replay.nonfinite.nonfinite_log import NonfiniteLog
from torchwhy.replay.nonfinite.stream import MakeBatch
from torchwhy.replay.samples.collated_rows import CollatedRows
from torchwhy.replay.samples.given_batches import GivenBatches

if TYPE_CHECKING:
    import torch


class DataCode:
    """Connects the births of a batch with the operations of data code that made them."""

    def __init__(
        self,
        microscope: Microscope,
        nonfinite_log: NonfiniteLog,
        given_batches: GivenBatches,
        *,
        collated_rows: CollatedRows,
        recorder: Recorder,
        state: TrainingState,
        program_ends: bool,
    ) -> None:
        self._microscope = microscope
        self._nonfinite_log = nonfinite_log
        self._given_batches = given_batches
        self._collated_rows = collated_rows
        self._recorder = recorder
        self._state = state
        self._program_ends = program_ends  # on a failure

    def look(self) -> None:
        """Confirm the rows of bad samples, then make the newest bad batch again, while the microscope is on."""
        self._collated_rows.confirm()
        if not self._program_ends or not self._microscope.is_on:
            return
        found = [birth for birth in self._nonfinite_log.spoilers() if birth.origin == "batch"]
        known = [self._nonfinite_log.batches.get(birth.id) for birth in found]
        batch = next((one for one in reversed(known) if one is not None), None)
        iterator = batch.iterator() if batch is not None else None
        if batch is None or iterator is None:
            return
        own = [
            birth for birth, one in zip(found, known, strict=True) if one and one.key == batch.key
        ]
        if stream.is_stream(iterator):
            self._refetch(own, stream.reader_of(iterator, self._given_batches.number_of(batch)))
        elif batch.indices is not None:
            self._refetch(own, _by_index(iterator, list(batch.indices)))

    def _refetch(self, sources: list[Birth], make: MakeBatch) -> None:
        states, state = seeds.take(), self._state
        in_update, state.in_update = (
            state.in_update,
            False,
        )  # what runs now is data code, not an update
        self._let_numpy_name_the_line(make)
        began = self._microscope.seen
        # The dataset may refuse a second request; then the value stays attributed to the batch.
        with suppress(Exception):
            # Our hooks are hidden from all modes, the microscope included, so it is put on just for this.
            refetched = dict(leaves_of(make(self._microscope)))
            for source in sources:
                self._connect(source, refetched.get(source.field or ""), began=began)
        state.in_update = in_update
        seeds.restore(states)

    def _let_numpy_name_the_line(self, make: MakeBatch) -> None:
        """Make the batch with NumPy raising where it would only warn: the traceback ends in the guilty expression."""
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return
        try:
            make(numpy.errstate(divide="raise", over="raise", invalid="raise"))
        except FloatingPointError as error:
            place = user_location(error.__traceback__)
            if place is not None:
                self._recorder.write(
                    ArrayWarning(step=self._state.step, message=str(error), location=place)
                )
        except Exception:  # noqa: S110 - the dataset may refuse a second request
            pass

    def _connect(self, source: Birth, leaf: torch.Tensor | None, *, began: int) -> None:
        if leaf is None or gradients.is_finite(leaf):
            return
        known = map(self._nonfinite_log.get, self._microscope.memory_writers.births_of(leaf))
        births = [birth for birth in known if birth is not None]
        made = [birth.id for birth in births if birth.kind != "source" and birth.order > began]
        if made:
            self._nonfinite_log.descends(source, made)


def _by_index(iterator: Any, indices: list[int] | None) -> MakeBatch:
    def make(looking: AbstractContextManager[Any]) -> Any:
        with looking:
            return fetch_again(iterator, indices)

    return make
