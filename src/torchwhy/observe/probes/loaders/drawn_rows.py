"""The rows that a sampler draws, counted in bulk: C iterators collect the indices, torch counts them later."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any

import torch
from torch.utils import data

from torchwhy.observe.probes.loaders.data_survey import counted
from torchwhy.observe.torch_features.loader_parts import sampler_of
from torchwhy.record.inputs.data_events import EpochDrawn, SamplerSeen

MOST_INDICES = 2**16  # collected of one pass over a loader
MOST_PASSES = 3  # of a loader whose indices are collected
UNBATCHED = 32  # assumed size of a batch whose sampler does not tell it


def tapped(
    sampler: Iterator[Any],
    note: Callable[[Any], Any],
    *,
    batch_size: int | None,
) -> Iterator[Any]:
    """Return a sampler's iterator that passes its first indices through `note`; no frame of ours is in it."""
    return chain(map(note, islice(sampler, MOST_INDICES // (batch_size or UNBATCHED))), sampler)


def as_rows(noted: list[Any]) -> torch.Tensor | None:
    """Return collected indices as one tensor of whole numbers; None if they are something else."""
    flat: list[int] = []
    try:
        for one in noted:
            if isinstance(one, (list, tuple)):
                flat.extend(map(operator.index, one))
            else:
                flat.append(operator.index(one))
    except TypeError:
        return None
    if any(not -(2**62) < one < 2**62 for one in flat[:1]):
        return None
    return torch.tensor(flat, dtype=torch.int64)


def epoch_of(rows: torch.Tensor, *, trains: bool, ordered: bool) -> EpochDrawn:
    """Return how many rows a pass drew, and how many different ones; with a digest of their order if it is asked."""
    ascending = bool((rows[1:] > rows[:-1]).all()) if len(rows) > 1 else True
    return EpochDrawn(
        draws=len(rows),
        distinct=len(counted(rows)[0]),
        ascending=ascending,
        order=digest_of(rows) if ordered else "",
        trains=trains,
    )


def digest_of(numbers: torch.Tensor) -> str:
    """Return a short text that is the same in every process for the same whole numbers in the same order."""
    return hashlib.blake2b(repr(numbers.tolist()).encode(), digest_size=8).hexdigest()


def describe_sampler(iterator: Any) -> SamplerSeen | None:
    """Return the class and settings of the sampler that chooses single rows."""
    batches = sampler_of(iterator)
    if batches is None:
        return None
    is_plain = type(batches) is data.BatchSampler
    chosen = batches.sampler if is_plain else batches
    weights = getattr(chosen, "weights", None) if type(chosen) in _TORCH else None
    draws = getattr(chosen, "num_samples", None) if type(chosen) in _TORCH else None
    size = batches.batch_size if is_plain else None
    of_ranks = chosen if type(chosen) is data.DistributedSampler else None
    shuffles = getattr(of_ranks, "shuffle", None)
    return SamplerSeen(
        kind=type(chosen).__name__,
        is_torch=type(chosen) in _TORCH,
        replacement=bool(getattr(chosen, "replacement", False)),
        draws=draws if isinstance(draws, int) else None,
        weights=len(weights) if isinstance(weights, torch.Tensor) else None,
        batch_size=size if isinstance(size, int) else None,
        drop_last=bool(batches.drop_last) if is_plain else False,
        shuffles=shuffles if isinstance(shuffles, bool) else None,
        parts=getattr(of_ranks, "num_replicas", None),
        part=getattr(of_ranks, "rank", None),
    )


_TORCH = frozenset(
    {
        data.SequentialSampler,
        data.RandomSampler,
        data.SubsetRandomSampler,
        data.WeightedRandomSampler,
        data.DistributedSampler,
    }
)


def base_of(dataset: Any) -> tuple[Any, torch.Tensor | None]:
    """Return the dataset behind subsets, and the rows of it that the outermost subset has (None for all)."""
    rows: torch.Tensor | None = None
    while type(dataset) is data.Subset:
        own = as_rows([list(dataset.indices)]) if len(dataset.indices) <= MOST_INDICES else None
        if own is None or (rows is not None and len(rows) and int(rows.max()) >= len(own)):
            return dataset, None
        rows = own if rows is None else own[rows]
        dataset = dataset.dataset
    return dataset, rows
