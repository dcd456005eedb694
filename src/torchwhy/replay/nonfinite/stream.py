"""Makes a batch of a stream (a dataset without indices) again, by reading the stream up to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any

from torch.utils.data import IterableDataset

from torchwhy.observe.torch_features.loader_parts import (
    collate_of,
    dataset_of,
    sampler_of,
    yielded_by,
)

MOST_SECONDS = 5.0  # for reading up to the batch; beyond, it is given up

# Makes a batch inside of a context: the microscope, or NumPy set to raise.
MakeBatch = Callable[[AbstractContextManager[Any]], Any]


def is_stream(iterator: Any) -> bool:
    """Tell whether a loader's iterator reads a stream."""
    return isinstance(dataset_of(iterator), IterableDataset)


def reader_of(iterator: Any) -> MakeBatch:
    """Return a function that makes the current batch again, from a fresh pass over the stream in this process."""

    def make(looking: AbstractContextManager[Any]) -> Any:
        size, collate = getattr(sampler_of(iterator), "batch_size", None), collate_of(iterator)
        samples, ends = iter(dataset_of(iterator)), time.monotonic() + MOST_SECONDS
        for _ in range((yielded_by(iterator) - 1) * (size or 1)):
            next(samples)
            if time.monotonic() > ends:
                raise TimeoutError
        with looking:
            return collate(list(islice(samples, size)) if size else next(samples))

    return make
