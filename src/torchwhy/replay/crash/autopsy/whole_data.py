"""Finds the data that a batch of indices was taken from, so that a table can be made for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader, Dataset

if TYPE_CHECKING:
    from torchwhy.replay.crash.autopsy.case import Case

MOST_COMPARED = 50_000_000  # numbers compared with a batch; about a tenth of a second
DEEPEST = 4  # from a loader over subsets to the tensors of a dataset
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def largest_in_all_data(case: Case, index: torch.Tensor) -> int | None:
    """Return the largest index in the data that this batch was taken from; None if that data is not found."""
    if index.dim() == 0 or not index.numel() or index.dtype not in INTEGERS:
        return None
    found = [int(data.max().item()) for data in _reachable(case) if _holds(data, index)]
    return max(found, default=None)


def _reachable(case: Case) -> Iterator[torch.Tensor]:
    seen: set[int] = set()
    for frame in case.frames:
        if frame.layer != "user":
            continue
        for value in (*frame.variables.values(), *frame.globals.values()):
            yield from _tensors_in(value, seen, DEEPEST)


def _tensors_in(value: Any, seen: set[int], depth: int) -> Iterator[torch.Tensor]:
    """Yield the tensors and arrays of integers that a value holds: a dataset, a loader over it, a list of them."""
    if depth == 0 or id(value) in seen:
        return
    seen.add(id(value))
    if type(value).__module__ == "numpy" and type(value).__name__ == "ndarray":
        value = (
            torch.from_numpy(value) if value.dtype.kind == "i" and value.flags.writeable else None
        )
    if isinstance(value, torch.Tensor):
        if value.dtype in INTEGERS and value.numel():
            yield value
    elif isinstance(value, (Dataset, DataLoader)):
        for held in list(vars(value).values()):
            yield from _tensors_in(held, seen, depth - 1)
    elif type(value) in (list, tuple) and depth < DEEPEST:
        for held in value[:16]:
            yield from _tensors_in(held, seen, depth - 1)


def _holds(data: torch.Tensor, index: torch.Tensor) -> bool:
    """Tell whether a batch was taken from the data: it is a part of it, or the row of its largest index is there."""
    if data.device != index.device or data.numel() <= index.numel():
        return False
    if data.untyped_storage().data_ptr() == index.untyped_storage().data_ptr():
        return True
    row = index[int(index.flatten(1).amax(1).argmax())] if index.dim() > 1 else index
    if index.dim() > 1 and data.shape[1:] == index.shape[1:]:
        if data.numel() > MOST_COMPARED:
            return False
        return bool((data == row).flatten(1).all(1).any())
    length = row.numel()
    if data.dim() != 1 or data.numel() * length > MOST_COMPARED:
        return False
    return bool((data.unfold(0, length, 1) == row.flatten()).all(1).any())
