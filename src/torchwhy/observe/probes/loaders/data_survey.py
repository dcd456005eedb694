"""Values of a dataset: statistics of each field, the order of labels, and digests of whole rows."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch

from torchwhy.record.inputs.data_events import FieldSeen, LabelOrder
from torchwhy.record.numbers import encode

MOST_ROWS = 1024  # of a field that are measured
MOST_COLUMNS = 256  # of a row that are measured, evenly spaced
MOST_OF_A_TABLE = 32  # columns that are recorded one by one
MOST_VALUES = 4096  # from which quantiles are taken
GROUPS = 8  # of rows, whose means show how much batches differ
QUANTILES = tuple(place / 10 for place in range(1, 10))
MOST_CLASSES = 1000
DIGESTED_COLUMNS = 64  # elements of a row that its digest is made of, evenly spaced
MOST_DIGESTED = 2**16  # rows of a dataset
ROWS_OF_A_CLASS = 5  # on average, below which whole numbers are no class labels
COUNTED_CLASSES = 20  # most frequent ones that are recorded
GOLDEN = 0x9E3779B97F4A7C15


def sampled(values: torch.Tensor, *, rows: int = MOST_ROWS) -> torch.Tensor:
    """Return evenly spaced rows and columns of a field as a new matrix."""
    if len(values) > rows:
        values = values[torch.arange(rows) * len(values) // rows]
    flat = values.reshape(len(values), -1)
    if flat.shape[1] > MOST_COLUMNS:
        flat = flat[:, torch.arange(MOST_COLUMNS) * flat.shape[1] // MOST_COLUMNS]
    return flat.clone()


def is_measurable(values: torch.Tensor) -> bool:
    """Tell whether a tensor holds rows of plain numbers in main memory."""
    return (
        type(values) is torch.Tensor
        and values.device.type == "cpu"
        and values.layout is torch.strided
        and not values.is_complex()
        and not values.is_quantized
        and values.dim() > 0
        and values.numel() > 0
    )


def field_of(
    path: str, groups: Sequence[torch.Tensor], *, dtype: torch.dtype, shape: Sequence[int]
) -> FieldSeen:
    """Return the statistics of a field from matrices of its rows: one matrix, or one per batch."""
    if len(groups) == 1:
        groups = [part for part in groups[0].chunk(GROUPS) if len(part)]
    every = torch.cat([one.double() for one in groups])
    values = every.flatten()
    count = min(len(values), MOST_VALUES)
    ordered = values[torch.arange(count) * len(values) // count].sort().values
    deviations = every.std(dim=0, correction=0)
    constant = int((every.max(dim=0).values == every.min(dim=0).values).sum())
    distances = (every - every.mean(dim=0)).abs().max(dim=0).values[deviations > 0]
    farthest = distances / deviations[deviations > 0]
    is_table = len(shape) == 1 and every.shape[1] <= MOST_OF_A_TABLE
    return FieldSeen(
        path=path,
        dtype=str(dtype).removeprefix("torch."),
        shape=list(shape),
        rows=len(every),
        mean=encode(float(values.mean())),
        deviation=encode(float(values.std(correction=0))),
        minimum=encode(float(values.min())),
        maximum=encode(float(values.max())),
        means=[encode(float(one.double().mean())) for one in groups],
        deviations=[encode(float(one.double().std(correction=0))) for one in groups],
        quantiles=[encode(float(ordered[int(q * (len(ordered) - 1))])) for q in QUANTILES],
        whole=bool((values == values.round()).all()),
        columns=every.shape[1],
        constant_columns=constant if len(every) > 1 else 0,
        farthest=encode(float(farthest.max())) if len(farthest) else 0.0,
        column_means=[encode(one) for one in every.mean(dim=0).tolist()] if is_table else [],
        column_deviations=[encode(one) for one in deviations.tolist()] if is_table else [],
    )


def may_be_labels(values: torch.Tensor) -> bool:
    """Tell whether a tensor holds one whole number per row."""
    if values.dtype in (torch.bool, torch.uint8) or values.is_floating_point():
        return values.dtype is torch.bool and values.numel() == len(values)
    return values.numel() == len(values)


def order_of(path: str, batches: Sequence[torch.Tensor]) -> LabelOrder | None:
    """Return in which order labels came; None if these numbers are no labels of classes."""
    labels = torch.cat([one.reshape(-1).long() for one in batches])
    classes, counts = torch.unique(labels, return_counts=True)
    if not 1 < len(classes) <= min(MOST_CLASSES, len(labels) // ROWS_OF_A_CLASS):
        return None
    most = counts.argsort(descending=True)[:COUNTED_CLASSES]
    return LabelOrder(
        path=path,
        rows=len(labels),
        classes=len(classes),
        counts={str(int(classes[place])): int(counts[place]) for place in most},
        runs=int((labels[1:] != labels[:-1]).sum()) + 1,
        batches=len(batches),
        mixed=sum(bool((one != one.reshape(-1)[0]).any()) for one in batches),
    )


def digests_of(values: torch.Tensor, *, columns: int = DIGESTED_COLUMNS) -> torch.Tensor:
    """Return one number per row that equal rows share; of long rows, evenly spaced elements are read."""
    flat = values.reshape(len(values), -1)
    if flat.shape[1] > columns:
        flat = flat[:, torch.arange(columns) * flat.shape[1] // columns]
    return (_as_whole(flat) * _coefficients(flat.shape[1])).sum(dim=1)


def _as_whole(values: torch.Tensor) -> torch.Tensor:
    """Return the bits of numbers as whole numbers."""
    if values.dtype is torch.float64:
        return values.contiguous().view(torch.int64)
    if values.is_floating_point():
        return values.float().contiguous().view(torch.int32).long()
    return values.long()


@functools.lru_cache(maxsize=8)
def _coefficients(count: int) -> torch.Tensor:
    """Return whole numbers without a pattern: the first of the generator SplitMix64."""
    found = []
    for place in range(1, count + 1):
        mixed = place * GOLDEN % 2**64
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
        mixed ^= mixed >> 31
        found.append(mixed - 2**64 if mixed >= 2**63 else mixed)
    return torch.tensor(found, dtype=torch.int64)
