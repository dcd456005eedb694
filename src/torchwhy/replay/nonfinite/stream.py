"""Makes a batch of a stream (a dataset without indices) again, by reading the stream up to it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any

from torch.utils.data import IterableDataset

from torchwhy.observe.torch_features.loader_parts import (
    collate_of,
    dataset_of,
    sampler_of,
)

MOST_SAMPLES = 20_000  # read up to the batch; beyond, it is given up

# Makes a batch inside of a context: the microscope, or NumPy set to raise.
MakeBatch = Callable[[AbstractContextManager[Any]], Any]


def is_stream(iterator: Any) -> bool:
    """Tell whether a loader's iterator reads a stream."""
    return isinstance(dataset_of(iterator), IterableDataset)


def reader_of(iterator: Any, number: int) -> MakeBatch:
    """Return a function that makes batch `number` (from 1) again, from a fresh pass over the stream in this process."""

    def make(looking: AbstractContextManager[Any]) -> Any:
        size, collate = getattr(sampler_of(iterator), "batch_size", None), collate_of(iterator)
        samples, before = iter(dataset_of(iterator)), (number - 1) * (size or 1)
        if before > MOST_SAMPLES:
            raise TimeoutError
        for _ in range(before):
            next(samples)
        with looking:
            return collate(list(islice(samples, size)) if size else next(samples))

    return make
