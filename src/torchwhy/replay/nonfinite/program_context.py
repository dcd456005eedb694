"""Answers what the nonfinite log asks about the program: names, the current batch, later operations."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from torchwhy.observe.probes.batches import Batch, BatchKeeper, leaves_of
from torchwhy.observe.probes.released_batches import ReleasedBatch
from torchwhy.observe.program.names import Names, borrowed_locals
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.loader_parts import fetched_in, row_tensors_of
from torchwhy.observe.torch_features.tensor_parts import storage_key
from torchwhy.replay.microscope.expressions import span_in_module
from torchwhy.replay.microscope.memory_writers import MemoryWriters
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.nonfinite.provenance import Origin
from torchwhy.replay.nonfinite.underflow import largest_subtracted, redo_in_float32
from torchwhy.replay.samples.sample_rows import MIXED, SampleRows, Samples
from torchwhy.replay.step.batch_repeater import BatchRepeater


def _sample_in_hand() -> Samples | None:
    """Return the sample that torch's loader is fetching, while code of the dataset runs."""
    frame: FrameType | None = frame_at(1)
    index: Any = None
    while frame is not None:
        fetched = fetched_in(frame.f_code.co_filename, borrowed_locals(frame))
        if fetched is not None:
            indices, _, in_hand = fetched
            index = in_hand if index is None else index
            if isinstance(index, int) and isinstance(indices, list) and index in indices:
                return Samples(1, (index,), rows=(indices.index(index),))
        frame = frame.f_back
    return None


class LiveContext:
    """Answers from names, batches and memory writers; `operations_after` is the microscope's."""

    def __init__(
        self,
        names: Names,
        batches: BatchKeeper,
        repeater: BatchRepeater,
        memory_writers: MemoryWriters,
        operations_after: Callable[[Operation], list[Operation]],
    ) -> None:
        self._names = names
        self._batches = batches
        self._repeater = repeater
        self._memory_writers = memory_writers
        self.operations_after = operations_after
        self._sample_rows = SampleRows(self._is_buffer)

    def _current_batch(self) -> Batch | None:
        """Return the batch that the program works on: the one it got last."""
        if self._repeater.newest is not None:
            return self._repeater.newest
        recent = self._batches.recent
        return recent[-1] if recent else None

    def rows(self) -> int:
        """Return the batch size, 0 if no loader gave a batch."""
        current = self._current_batch()
        known = reversed(self._batches.recent)
        for batch in (*([current] if current is not None else []), *known):
            for _, leaf in leaves_of(batch.data):
                if leaf.dim():
                    return int(leaf.shape[0])
        return 0

    def samples(self, operation: Operation, tensor: torch.Tensor | None) -> Samples:
        """Return the samples behind an operation's result, or those that a tensor it was given consists of."""
        if operation.phase == "data":
            return _sample_in_hand() or MIXED
        if tensor is None:
            found = self._sample_rows.of_operation(operation)
        else:
            found = self._sample_rows.of_operand(operation, tensor)
        return Samples(self.rows()) if found is None else found

    def _is_buffer(self, address: int) -> bool:
        return any(buffer.data_ptr() == address for buffer in self._names.buffers().values())

    def _age_of(self, batch: Batch | ReleasedBatch) -> int | None:
        """Return for how many steps, at most, the dataset of a batch exists; None if it is as old as training."""
        before = self._batches.drawn_before(batch)
        return self._batches.serial - before if before else None

    def name_of(self, parameter: Any) -> str | None:
        """Return what the program calls a parameter."""
        return self._names.parameters().get(id(parameter))

    def weight_filled_by(self, birth: int) -> Origin | None:
        """Return the parameter or buffer that a bad value was copied into as a whole, not computed into."""
        for key, (kind, name) in self._names.by_memory().items():
            entry = self._memory_writers.entry_at(key)
            if entry is None or entry.last_operation is None or birth not in entry.births:
                continue
            if entry.last_operation.info.base in ("copy_", "set_"):
                return Origin(kind, name)  # type: ignore[arg-type]
        return None

    def in_float32(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """Return a half-precision tensor as float32 would have had it, None for others."""
        return redo_in_float32(tensor, self._memory_writers)

    def largest_subtracted(self, tensor: torch.Tensor) -> float | None:
        """Return the largest magnitude in the operands of the difference that made a tensor, None for others."""
        return largest_subtracted(tensor, self._memory_writers)

    def births_of_rows(self, tensor: torch.Tensor) -> frozenset[int]:
        """Return the births behind a batch that torch alone made of a dataset's tensors, while we did not look."""
        key = storage_key(tensor)
        for batch in list(self._batches.recent):
            rows = row_tensors_of(batch.iterator())
            leaves = [leaf for _, leaf in leaves_of(batch.data)]
            if key is None or len(rows) != len(leaves):
                continue
            for leaf, whole in zip(leaves, rows, strict=True):
                if storage_key(leaf) == key:
                    return self._memory_writers.births_of(whole)
        return frozenset()

    def origin_of(self, tensor: torch.Tensor) -> Origin:
        """Return where a tensor came from: batch, parameter, buffer or the operation that made it."""
        key = storage_key(tensor)
        if key is None:
            return Origin()
        entry = self._memory_writers.entry(tensor)
        known = self._names.by_memory().get(key)
        if known is not None:
            return Origin(known[0], known[1])  # type: ignore[arg-type]
        # A loader that fetches ahead gave the batch in use before the newest one.
        for batch in reversed(self._batches.all_known()):
            for path, leaf in batch.leaves():
                if storage_key(leaf) == key:
                    place = span_in_module(batch.sites[0], None) if batch.sites else None
                    return Origin("batch", path, place, field=path, steps=self._age_of(batch))
        if entry is not None and entry.last_operation is not None:
            site = entry.last_operation.place()
            place = span_in_module(site, entry.last_operation.module) if site else None
            return Origin("operation", entry.last_operation.info.name, place)
        return Origin()
