"""Hand out kept batches again, in the place of what the user's DataLoader would give next."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import torch

from torchwhy.observe.probes.batches import Batch
from torchwhy.observe.torch_features.loader_parts import dataset_of, loader_iterator_class


class BatchRepeater:
    """While active, iterators give the kept batches, each with the random state it was drawn in."""

    def __init__(self) -> None:
        self._queue: deque[Batch] = deque()
        self._original: Any = None
        self._replacement: dict[int, Any] = {}
        self.newest: Batch | None = None  # the one handed out last
        self.on_first: Callable[[], object] = lambda: None

    @property
    def is_active(self) -> bool:
        """Tell whether batches are being handed out again."""
        return self._original is not None

    def begin(self, batches: list[Batch], replacement: dict[int, Any] | None = None) -> None:
        """Hand these out next; `replacement` gives other data for some, by serial number."""
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
        """Let the loaders give what they have again."""
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
        self.on_first()
        torch.set_rng_state(batch.random_state)
        return self._replacement.get(batch.serial, batch.data)

    def _next_for(self, iterator: Any) -> Batch | None:
        """Return the next batch of this iterator, or of one over the same data that it replaces in a new epoch."""
        owners = [(batch, batch.iterator()) for batch in self._queue]
        for batch, owner in owners:
            if owner is iterator:
                return batch
        for batch, owner in owners:
            if owner is None or dataset_of(owner) is dataset_of(iterator, owner):
                return batch
        return None


def with_rows_replaced(data: Any, rows: dict[int, int], size: int) -> Any:
    """Return a copy of a batch in which some samples are copies of others; the batch itself stays as it is."""
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


class MutedOutput:
    """Keeps a repeated step from printing a second time what the first time printed already."""

    def __init__(self) -> None:
        self._saved: list[tuple[int, int]] = []

    def begin(self) -> None:
        """Send what is printed from now on to nowhere."""
        if self._saved:
            return
        _flush()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for descriptor in (1, 2):
            self._saved.append((descriptor, os.dup(descriptor)))
            os.dup2(nowhere, descriptor)
        os.close(nowhere)

    def end(self) -> None:
        """Let the program speak again."""
        if not self._saved:
            return
        _flush()
        for descriptor, copy in self._saved:
            os.dup2(copy, descriptor)
            os.close(copy)
        self._saved.clear()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
