"""Rows of a dataset that are copies of others: counted once, when the run is over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import torch
from torch.utils import data as torch_data

from torchwhy.observe.probes.loaders.data_survey import (
    digests_of,
    is_measurable,
    may_be_labels,
)
from torchwhy.observe.probes.loaders.seen_loader import SeenLoader
from torchwhy.plain_data import dataclass
from torchwhy.record.inputs.data_events import RowsRepeated

MOST_ROWS = 2**14  # with a repeated digest that are compared in full
MOST_COLUMNS = 4096  # of a row
MOST_ELEMENTS = 2**24  # that are compared in all
ASKED = 8  # repeated rows whose nearest neighbour is looked for
Fields = list[tuple[str, torch.Tensor]]


@dataclass(frozen=True)
class Copies:
    """Rows that occur earlier, with how often inputs occur, and an example of two equal ones."""

    rows: torch.Tensor
    fewest: int
    most: int
    example: list[int]


@dataclass(frozen=True)
class Contradictions:
    """Rows with the inputs of another row and another label, beside all whose inputs recur."""

    rows: torch.Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.int64))
    recurring: int = 0
    pair: list[int] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)


def repeated_in_tensors(loaders: Sequence[SeenLoader]) -> Iterator[RowsRepeated]:
    """Yield what is repeated in the datasets of tensors that loaders train from; each dataset once."""
    seen = set()
    for loader in loaders:
        dataset: Any = loader.dataset() if loader.dataset is not None else None
        own = loader.own_rows
        key = (loader.base, None if own is None else own[:64].numpy().tobytes())
        if dataset is None or not loader.trains or loader.digests is None or key in seen:
            continue
        seen.add(key)
        if len(torch.unique(loader.digests)) == len(loader.digests) or loader.has_rows_twice():
            continue
        while type(dataset) is torch_data.Subset:
            dataset = dataset.dataset
        fields = [(f"batch[{n}]", one.detach()) for n, one in enumerate(dataset.tensors)]
        if own is not None:
            fields = [(path, one[own]) for path, one in fields]
        found = repeated_among(loader.number, fields, loader.digests)
        if found is not None:
            yield found


def repeated_among(
    number: int, fields: Fields, digests: torch.Tensor | None = None
) -> RowsRepeated | None:
    """Return which rows are copies of others; `digests` are numbers that equal rows share, if they are known."""
    if not fields or not all(is_measurable(one) for _, one in fields):
        return None
    candidates = [one for _, one in fields if may_be_labels(one)]
    labels = candidates[0].reshape(-1).long() if len(candidates) == 1 and len(fields) > 1 else None
    inputs = [one for _, one in fields if labels is None or one is not candidates[0]]
    first = max(inputs, key=lambda one: one[0].numel())
    rows = _with_equal_digests(digests_of(first) if digests is None else digests)
    if not len(rows):
        return None
    given = torch.stack([_digest(one[rows]) for one in inputs]).sum(0)
    copies = _copies(given, labels[rows] if labels is not None else None, rows, of=len(first))
    against = _contradictions(given, labels, rows) if labels is not None else Contradictions()
    asked = copies.rows if len(copies.rows) else against.rows
    if not len(asked):
        return None
    return RowsRepeated(
        loader=number,
        rows=len(first),
        elements=sum(one[0].numel() for one in inputs),
        copies=len(copies.rows),
        fewest=copies.fewest,
        most=copies.most,
        nearest=_nearest(inputs, asked[:ASKED]),
        example=copies.example,
        balance=_balance(labels, copies.rows) if labels is not None else [],
        contradicting=len(against.rows),
        recurring=against.recurring,
        contradiction=against.pair,
        labels=against.labels,
    )


def _with_equal_digests(digests: torch.Tensor) -> torch.Tensor:
    _, group, counts = torch.unique(digests, return_inverse=True, return_counts=True)
    is_repeated: torch.Tensor = counts[group] > 1
    return is_repeated.nonzero().flatten()[:MOST_ROWS]


def _digest(rows: torch.Tensor) -> torch.Tensor:
    """Return one number per row that depends on its place among the fields by its size."""
    return digests_of(rows, columns=MOST_COLUMNS) * (2 * rows[0].numel() + 1)


def _copies(
    given: torch.Tensor, labels: torch.Tensor | None, rows: torch.Tensor, *, of: int
) -> Copies:
    keys = given if labels is None else given + labels * 0x9E3779B9
    _, group, counts = torch.unique(keys, return_inverse=True, return_counts=True)
    first = torch.full((len(counts),), len(keys)).scatter_reduce(
        0, group, torch.arange(len(keys)), "amin"
    )
    later = torch.arange(len(keys)) != first[group]
    found = later.nonzero().flatten()
    example = [int(rows[first[group[found[0]]]]), int(rows[found[0]])] if len(found) else []
    of_inputs = torch.unique(given, return_counts=True)[1]
    fewest = 1 if len(rows) < of else int(of_inputs.min())
    return Copies(rows[found], fewest, int(of_inputs.max()), example)


def _contradictions(
    given: torch.Tensor, labels: torch.Tensor, rows: torch.Tensor
) -> Contradictions:
    _, group, counts = torch.unique(given, return_inverse=True, return_counts=True)
    own = labels[rows]
    low = torch.full((len(counts),), int(own.max())).scatter_reduce(0, group, own, "amin")
    high = torch.full((len(counts),), int(own.min())).scatter_reduce(0, group, own, "amax")
    found = (low < high)[group].nonzero().flatten()
    recurring = int(counts[counts > 1].sum())
    if not len(found):
        return Contradictions(recurring=recurring)
    same = (group == group[found[0]]).nonzero().flatten()
    other = same[(own[same] != own[same[0]]).nonzero().flatten()[0]]
    pair = [int(rows[same[0]]), int(rows[other])]
    return Contradictions(rows[found], recurring, pair, [int(labels[one]) for one in pair])


def _nearest(inputs: Sequence[torch.Tensor], asked: torch.Tensor) -> int:
    """Return in how many elements a repeated row differs at least from a row that is no copy of it; 0 if all are."""
    flat = [one.reshape(len(one), -1)[:, :MOST_COLUMNS] for one in inputs]
    elements = sum(one.shape[1] for one in flat)
    count = min(len(flat[0]), max(1, MOST_ELEMENTS // (elements * len(asked))))
    others = torch.arange(count) * len(flat[0]) // count
    smallest = 0
    for row in asked:
        differing = torch.stack([(one[others] != one[row]).sum(1) for one in flat]).sum(0)
        differing = differing[differing > 0]
        least = int(differing.min()) if len(differing) else 0
        smallest = min(smallest or least, least)
    return smallest


def _balance(labels: torch.Tensor, copies: torch.Tensor) -> list[float]:
    """Return the size of the largest class over that of the smallest, with copies and without."""
    kept = torch.ones(len(labels), dtype=torch.bool)
    kept[copies] = False
    found = []
    for some in (labels, labels[kept]):
        counts = torch.unique(some, return_counts=True)[1]
        found.append(round(float(counts.max() / counts.min()), 4))
    return found
