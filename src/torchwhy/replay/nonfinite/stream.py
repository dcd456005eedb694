"""A batch of a dataset without indices, a stream: to have it once more, the stream is read again up to it."""

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

MOST_SECONDS = 5.0  # for the batches before it; a stream that takes longer is not read again

# Makes a batch within a context: the microscope, or NumPy told to raise.
MakeBatch = Callable[[AbstractContextManager[Any]], Any]


def is_stream(iterator: Any) -> bool:
    """Tell whether a loader's iterator reads a stream."""
    return isinstance(dataset_of(iterator), IterableDataset)


def reader_of(iterator: Any) -> MakeBatch:
    """Return what makes the batch in hand once more, from a fresh pass over the stream in this process."""

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
