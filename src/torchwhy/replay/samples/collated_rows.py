"""Confirms the rows of samples that the program's own collate function put together, which may drop or sort them.

The dataset is asked for the samples again, so this runs only in a program that is about to end.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

import msgspec
import torch

from torchwhy.observe.probes.released_batches import tensors_of
from torchwhy.observe.program import seeds
from torchwhy.observe.torch_features.loader_parts import dataset_of, fetch_again
from torchwhy.replay.nonfinite.nonfinite_log import NonfiniteLog
from torchwhy.replay.samples.given_batches import GivenBatch, GivenBatches

MOST_SAMPLES = 512  # of a batch that are asked for again


class CollatedRows:
    """Compares the bad rows of a batch with the samples of the dataset, by content."""

    def __init__(
        self, nonfinite_log: NonfiniteLog, given_batches: GivenBatches, *, program_ends: bool
    ) -> None:
        self._nonfinite_log = nonfinite_log
        self._given_batches = given_batches
        self._program_ends = program_ends

    def confirm(self) -> None:
        """Replace the rows of births by those that the dataset confirms; leave them out where it does not."""
        known: dict[tuple[Any, ...], int | None] = {}
        for birth in self._nonfinite_log.spoilers():
            batch = self._nonfinite_log.batches.get(birth.id)
            if batch is None or batch.is_in_order or not birth.positions:
                continue
            rows = []
            for position in birth.positions:
                key = (*batch.key, position)
                if key not in known:
                    known[key] = self._row_of(batch, position) if self._program_ends else None
                rows.append(known[key])
            found = [row for row in rows if row is not None]
            self._nonfinite_log.births[birth.id] = msgspec.structs.replace(
                birth, dataset_indices=found if len(found) == len(rows) else []
            )

    def _row_of(self, batch: GivenBatch, position: int) -> int | None:
        """Return the index whose sample is the row at a position of the batch."""
        row = self._given_batches.largest_row(batch, position)
        dataset, indices = dataset_of(batch.iterator()), batch.indices
        if row is None or dataset is None or indices is None or len(indices) > MOST_SAMPLES:
            return None
        guess = indices[position : position + 1]
        states = seeds.take()
        try:
            # The dataset may refuse a second request, or draw another sample.
            with suppress(Exception):
                if any(_is_row(batch, index, row) for index in guess):
                    return guess[0]
                found = [index for index in indices if _is_row(batch, index, row)]
                return found[0] if len(found) == 1 else None
        finally:
            seeds.restore(states)
        return None


def _is_row(batch: GivenBatch, index: int, row: torch.Tensor) -> bool:
    """Tell whether a sample, as the dataset gives it or put together alone, is a row of a batch."""
    iterator = batch.iterator()
    if _holds(dataset_of(iterator)[index], row):
        return True
    with suppress(Exception):  # the collate function may need several samples
        alone = [leaf for _, leaf in tensors_of(fetch_again(iterator, [index]))]
        return any(_is_same(leaf[0], row) for leaf in alone if leaf.dim() and len(leaf) == 1)
    return False


def _holds(sample: Any, row: torch.Tensor) -> bool:
    """Tell whether a sample has a tensor or array with the values of a row, which may be padded."""
    return any(_is_same(value, row) for value in _values_in(sample))


def _values_in(sample: Any) -> list[torch.Tensor]:
    numpy: Any = sys.modules.get("numpy")
    found = [tensor for _, tensor in tensors_of(sample)]
    parts = sample.values() if isinstance(sample, dict) else sample
    parts = parts if isinstance(sample, (dict, list, tuple)) else [sample]
    for part in parts:
        if numpy is not None and isinstance(part, numpy.ndarray):
            found.append(torch.from_numpy(part))
        elif isinstance(part, list) and part and all(isinstance(one, (int, float)) for one in part):
            found.append(torch.tensor(part))
    return found


def _is_same(value: torch.Tensor, row: torch.Tensor) -> bool:
    value = value.detach()
    if value.dim() != row.dim() or not value.numel():
        return False
    if any(own > other for own, other in zip(value.shape, row.shape, strict=True)):
        return False
    part = row[tuple(slice(size) for size in value.shape)]
    return bool(torch.allclose(value.to(row.dtype), part, rtol=0.0, atol=0.0, equal_nan=True))
