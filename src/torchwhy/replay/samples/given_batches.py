"""Knows to which batch of a loader a piece of memory belongs, whatever the loader has fetched since."""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import torch

from torchwhy.observe.probes.batches import Batch, BatchKeeper
from torchwhy.observe.probes.released_batches import ReleasedBatch
from torchwhy.observe.torch_features.loader_parts import (
    dataset_of,
    gives_in_order,
    keeps_order,
    yielded_by,
)
from torchwhy.plain_data import dataclass


@dataclass(frozen=True)
class Leaf:
    """One tensor of a batch: where its memory lies, as long as it lives."""

    path: str
    tensor: weakref.ref[torch.Tensor]
    address: int
    end: int
    size: int
    step: int


@dataclass(frozen=True, eq=False)
class GivenBatch:
    """A batch that a loader gave, also one that was released since."""

    serial: int
    iterator: Any
    indices: tuple[int, ...] | None
    is_in_order: bool  # its rows are surely in the order of the indices

    @property
    def key(self) -> tuple[int, int]:
        """Return what two records of the same batch share."""
        return self.serial, id(self.iterator)


class GivenBatches:
    """Looks batches up by address; a batch can be found as long as the program holds its tensors."""

    def __init__(self, batches: BatchKeeper) -> None:
        self._batches = batches
        self._known_at = -1
        self._starts: list[int] = []
        self._leaves: list[tuple[Leaf, GivenBatch]] = []

    def at(self, address: int) -> tuple[GivenBatch, Leaf] | None:
        """Return the batch and the tensor of it that an address lies in."""
        if self._known_at != self._batches.drawn:
            self._learn()
        place = bisect_right(self._starts, address) - 1
        if place < 0:
            return None
        leaf, batch = self._leaves[place]
        if not leaf.address <= address < leaf.end or leaf.tensor() is None:
            return None
        return batch, leaf

    def largest_row(self, batch: GivenBatch, position: int) -> torch.Tensor | None:
        """Return what a batch has at a position, in the tensor with the most values per sample."""
        tensors = [leaf.tensor() for leaf, owner in self._leaves if owner.key == batch.key]
        rows = [
            tensor.detach()[position]
            for tensor in tensors
            if tensor is not None and position < tensor.shape[0]
        ]
        return max(rows, key=lambda row: row.numel(), default=None)

    def number_of(self, batch: GivenBatch) -> int:
        """Return how many batches the loader had given with this one."""
        return yielded_by(batch.iterator()) - (self._batches.serial - batch.serial)

    def _learn(self) -> None:
        found = [
            (leaf, given)
            for batch in self._batches.all_known()
            for given in [_given(batch)]
            for leaf in _leaves(batch)
        ]
        found.sort(key=lambda pair: pair[0].address)
        self._starts = [leaf.address for leaf, _ in found]
        self._leaves = found
        self._known_at = self._batches.drawn


def _given(batch: Batch | ReleasedBatch) -> GivenBatch:
    iterator, indices = batch.iterator(), batch.indices
    if iterator is not None and not gives_in_order(iterator):
        indices = None
    known = iterator is not None and dataset_of(iterator) is not None
    return GivenBatch(
        serial=batch.serial,
        iterator=batch.iterator,
        indices=tuple(indices) if indices is not None else None,
        is_in_order=known and keeps_order(iterator),
    )


def _leaves(batch: Batch | ReleasedBatch) -> Iterator[Leaf]:
    for path, tensor in batch.leaves():
        if tensor.layout is not torch.strided or not tensor.numel() or not tensor.dim():
            continue
        address, width = tensor.data_ptr(), tensor.element_size()
        spans = zip(tensor.shape, tensor.stride(), strict=True)
        last = sum((size - 1) * stride for size, stride in spans)
        yield Leaf(
            path,
            weakref.ref(tensor),
            address,
            address + (last + 1) * width,
            tensor.shape[0],
            tensor.stride()[0] * width,
        )
