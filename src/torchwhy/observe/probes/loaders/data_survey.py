"""Values of a dataset: statistics of each field, the order of labels, and digests of whole rows."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch

from torchwhy.record.inputs.data_events import FieldSeen, LabelOrder
from torchwhy.record.numbers import encode

MOST_ROWS = 256  # of a field that are measured
MOST_COLUMNS = 64  # of a row that are measured, evenly spaced
MOST_OF_A_TABLE = 32  # columns that are recorded one by one
MOST_VALUES = 2048  # from which quantiles are taken
GROUPS = 8  # of rows, whose means show how much batches differ
QUANTILES = tuple(place / 10 for place in range(1, 10))
MOST_CLASSES = 1000
LARGEST_COUNTED = 2**20
DIGESTED_COLUMNS = 32  # elements in the middle of a row that its digest is made of
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


def counted(numbers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the different whole numbers in ascending order, and how often each occurs; small ones without sorting."""
    if len(numbers) and int(numbers.min()) >= 0 and int(numbers.max()) < LARGEST_COUNTED:
        counts = torch.bincount(numbers)
        found = counts.nonzero().flatten()
        return found, counts[found]
    different, counts = torch.unique(numbers, return_counts=True)
    return different, counts


def may_be_labels(values: torch.Tensor) -> bool:
    """Tell whether a tensor holds one whole number per row."""
    if values.dtype in (torch.bool, torch.uint8) or values.is_floating_point():
        return values.dtype is torch.bool and values.numel() == len(values)
    return values.numel() == len(values)


def mixed_batches(labels: torch.Tensor, size: int) -> tuple[int, int]:
    """Return how many batches of a size these labels make, and how many of them hold more than one label."""
    whole = len(labels) // size * size
    batches = labels[:whole].reshape(-1, size)
    mixed = int((batches != batches[:, :1]).any(dim=1).sum())
    rest = labels[whole:]
    is_mixed = bool((rest != rest[:1]).any())
    return len(batches) + bool(len(rest)), mixed + is_mixed


def order_of(path: str, labels: torch.Tensor, *, batches: int, mixed: int) -> LabelOrder | None:
    """Return in which order labels came; None if these numbers are no labels of classes."""
    classes, counts = counted(labels.long())
    if not 1 < len(classes) <= min(MOST_CLASSES, len(labels) // ROWS_OF_A_CLASS):
        return None
    most = counts.argsort(descending=True)[:COUNTED_CLASSES]
    return LabelOrder(
        path=path,
        rows=len(labels),
        classes=len(classes),
        counts={str(int(classes[place])): int(counts[place]) for place in most},
        runs=int((labels[1:] != labels[:-1]).sum()) + 1,
        batches=batches,
        mixed=mixed,
    )


def digests_of(values: torch.Tensor, *, columns: int = DIGESTED_COLUMNS) -> torch.Tensor:
    """Return one number per row that equal rows share; of long rows, only elements in the middle are read.

    They lie side by side in memory: elements that are spread over the row take ten times as long.
    """
    flat = values.reshape(len(values), -1)
    begin = max(0, flat.shape[1] - columns) // 2
    flat = flat[:, begin : begin + columns]
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
