"""Rows that were drawn for training by one loader and for evaluation by another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from torchwhy.observe.probes.loaders.seen_loader import SeenLoader
from torchwhy.record.inputs.data_events import RowsShared


def shared_rows(loaders: Sequence[SeenLoader]) -> Iterator[RowsShared]:
    """Yield how many rows each pair of loaders shares, by index where both draw from one dataset, else by content."""
    for training in loaders:
        for evaluation in loaders:
            if training.trains and not evaluation.trains and training.number in evaluation.after:
                found = _by_index(training, evaluation) or _by_content(training, evaluation)
                if found is not None:
                    yield found


def _by_index(training: SeenLoader, evaluation: SeenLoader) -> RowsShared | None:
    if training.base is None or training.base != evaluation.base:
        return None
    trained, evaluated = training.rows_of_base(), evaluation.rows_of_base()
    if trained is None or evaluated is None:
        return None
    return RowsShared(
        training=training.number,
        evaluation=evaluation.number,
        by="index",
        evaluated=len(evaluated),
        trained=len(trained),
        shared=int(torch.isin(evaluated, trained).sum()),
        one_dataset=training.dataset is not None and training.dataset == evaluation.dataset,
    )


def _by_content(training: SeenLoader, evaluation: SeenLoader) -> RowsShared | None:
    trained, evaluated = training.drawn_digests(), evaluation.drawn_digests()
    if trained is None or evaluated is None or not _are_alike(training, evaluation):
        return None
    different, counts = torch.unique(trained, return_counts=True)
    return RowsShared(
        training=training.number,
        evaluation=evaluation.number,
        by="content",
        evaluated=len(evaluated),
        trained=len(trained),
        shared=int(torch.isin(evaluated, different).sum()),
        repeated=int(counts[counts > 1].sum()),
    )


def _are_alike(one: SeenLoader, other: SeenLoader) -> bool:
    """Tell whether the same elements of a row were read for the digests of both."""
    return [(f.path, f.dtype, f.shape) for f in one.fields] == [
        (f.path, f.dtype, f.shape) for f in other.fields
    ]
