"""Gives kept batches again, in place of those that the user's DataLoader would give next."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import torch

from torchwhy.observe.probes.batches import Batch
from torchwhy.observe.torch_features.loader_parts import dataset_of, loader_iterator_class
from torchwhy.replay.step.muted_output import MutedOutput


class BatchRepeater:
    """While active, loaders give the kept batches, each with the random state it was drawn in.

    With the first one it mutes the output of the program.
    """

    def __init__(self, muted_output: MutedOutput) -> None:
        self._muted_output = muted_output
        self._queue: deque[Batch] = deque()
        self._original: Any = None
        self._replacement: dict[int, Any] = {}
        self.newest: Batch | None = None  # the one given last

    @property
    def is_active(self) -> bool:
        """Tell whether batches are being repeated."""
        return self._original is not None

    def begin(self, batches: list[Batch], replacement: dict[int, Any] | None = None) -> None:
        """Give these next; `replacement` has other data for some, by serial number."""
        self._queue = deque(batches)
        self._replacement = replacement or {}
        iterators = loader_iterator_class()
        if self._original is None:
            self._original = iterators.__next__
            repeater, original = self, self._original

            def __next__(iterator: Any) -> Any:  # noqa: N807 - it takes that name's place
                batch = repeater._take(iterator)
                return original(iterator) if batch is None else batch

            iterators.__next__ = __next__

    def end(self) -> None:
        """Let the loaders give their own batches again."""
        if self._original is not None:
            loader_iterator_class().__next__ = self._original
            self._original = None
        self._queue.clear()
        self.newest = None

    def _take(self, iterator: Any) -> Any:
        batch = self._next_for(iterator)
        if batch is None:
            return None
        self._queue.remove(batch)
        self.newest = batch
        self._muted_output.begin()
        batch.random_state.put_back()
        return self._replacement.get(batch.serial, batch.data)

    def _next_for(self, iterator: Any) -> Batch | None:
        """Return the next kept batch of this iterator, or of an earlier iterator over the same dataset."""
        owners = [(batch, batch.iterator()) for batch in self._queue]
        for batch, owner in owners:
            if owner is iterator:
                return batch
        for batch, owner in owners:
            if owner is None or dataset_of(owner) is dataset_of(iterator, owner):
                return batch
        return None


def with_rows_replaced(data: Any, rows: dict[int, int], size: int) -> Any:
    """Return a copy of a batch with some samples replaced by copies of others."""
    if isinstance(data, torch.Tensor):
        if data.dim() == 0 or data.shape[0] != size:
            return data
        changed = data.detach().clone()
        for bad, good in rows.items():
            changed[bad] = data[good].detach()
        return changed
    if isinstance(data, Mapping):
        return {key: with_rows_replaced(value, rows, size) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(with_rows_replaced(value, rows, size) for value in data))
    if isinstance(data, (list, tuple)):
        return type(data)(with_rows_replaced(value, rows, size) for value in data)
    return data
