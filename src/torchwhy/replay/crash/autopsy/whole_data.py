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
    reachable = list(_reachable(case))
    found = [data for data in reachable if _holds(data, index)]
    for batch in reachable:
        column = _column_in(batch, index)
        if column is not None:
            wholes = [data for data in reachable if _holds(data, batch)]
            # The other columns are other things: users beside items.
            found += [data[:, column] for data in ([batch] if len(batch) > len(index) else wholes)]
    return max((int(data.max().item()) for data in found), default=None)


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
    if _share_memory(data, index):
        return data.dim() == 1 or data.shape[1:] == index.shape[1:]
    row = index[int(index.flatten(1).amax(1).argmax())] if index.dim() > 1 else index
    if index.dim() > 1 and data.shape[1:] == index.shape[1:]:
        if data.numel() > MOST_COMPARED:
            return False
        return bool((data == row).flatten(1).all(1).any())
    length = row.numel()
    if data.dim() != 1 or data.numel() * length > MOST_COMPARED:
        return False
    return bool((data.unfold(0, length, 1) == row.flatten()).all(1).any())


def _column_in(batch: torch.Tensor, index: torch.Tensor) -> int | None:
    """Return which column of a table, or of some of its rows, a vector of indices is; None if it is none."""
    if batch.dim() != 2 or index.dim() != 1 or not _share_memory(batch, index):
        return None
    rows, columns = batch.stride()
    if not rows or not columns or index.stride(0) % rows:
        return None
    first = (index.storage_offset() - batch.storage_offset()) % rows
    return first // columns if first % columns == 0 and first // columns < batch.shape[1] else None


def _share_memory(first: torch.Tensor, second: torch.Tensor) -> bool:
    return first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()
