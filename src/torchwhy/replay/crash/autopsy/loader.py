"""Describes the DataLoader of the current batch: its batch size, and what is left at the end of an epoch."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import DataLoader

from torchwhy.observe.probes.batches import BatchKeeper, Origin, described
from torchwhy.observe.probes.released_batches import tensors_of
from torchwhy.observe.program.frames import span_of
from torchwhy.observe.torch_features.loader_parts import dataset_of
from torchwhy.observe.torch_features.tensor_parts import has_values
from torchwhy.record.events import LoaderFacts
from torchwhy.replay.crash.frames.lookup import Unknown, attribute
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame

MOST_INDICES = 4096


def loader_facts(batches: BatchKeeper, frames: list[TracebackFrame]) -> LoaderFacts | None:
    """Return what is known of the loader; None if the program draws no batches from one."""
    batch = batches.recent[-1] if batches.recent else None
    iterator = batch.iterator() if batch is not None else None
    origin = batches.origin
    dataset = dataset_of(iterator)
    if dataset is None and origin is not None and origin.dataset is not None:
        dataset = origin.dataset()  # The exception has freed the iterator of the loop.
    loader = _loader_in(frames, dataset)
    if loader is None and (batch is None or origin is None):
        return None
    known = loader if loader is not None else origin
    return LoaderFacts(
        batch_size=_number(known, "batch_size"),
        dataset_length=_length(known),
        drop_last=_flag(known, "drop_last"),
        workers=_number(known, "num_workers") or _number(known, "workers") or 0,
        batches_drawn=batches.drawn,
        last_batch=described(batch.data) if batch is not None else [],
        usual_batch=list(batches.usual),
        indices=_indices_in_use(batches, frames)[:MOST_INDICES],
        location=span_of(batch.sites[0]) if batch is not None and batch.sites else None,
    )


def _indices_in_use(batches: BatchKeeper, frames: list[TracebackFrame]) -> list[int]:
    """Return the indices of the batch that the frames hold; a generator between may have fetched a later one."""
    held = {
        tensor.data_ptr()
        for frame in frames
        for value in frame.variables.values()
        for _, tensor in tensors_of(value, depth=2)
        if has_values(tensor) and tensor.layout is torch.strided and tensor.numel()
    }
    for batch in reversed(batches.all_known()):
        if any(leaf.numel() and leaf.data_ptr() in held for _, leaf in batch.leaves()):
            return batch.indices or []
    if not batches.recent or batches.asked_by_generator:
        return []
    return batches.recent[-1].indices or []


def _loader_in(frames: list[TracebackFrame], dataset: Any) -> Any:
    """Return the loader of a dataset, or if that is not known one that a frame was drawing from."""
    candidates = [
        value
        for frame in reversed(frames)
        for value in (
            *frame.variables.values(),
            *(frame.globals.values() if frame.layer == "user" else ()),
        )
        if isinstance(value, DataLoader)
    ]
    for loader in candidates:
        if dataset is not None and loader.__dict__.get("dataset") is dataset:
            return loader
    return candidates[0] if candidates and dataset is None else None


def _number(holder: Any, name: str) -> int | None:
    value = getattr(holder, "__dict__", {}).get(name)
    return value if isinstance(value, int) else None


def _flag(holder: Any, name: str) -> bool | None:
    value = getattr(holder, "__dict__", {}).get(name)
    return value if isinstance(value, bool) else None


def _length(holder: Any) -> int | None:
    """Return the number of samples; the dataset's own `__len__` is cheap by contract."""
    try:
        if isinstance(holder, Origin):
            held: Any = holder.dataset() if holder.dataset is not None else None
            return len(held)
        dataset: Any = attribute(holder, "dataset")
        return len(dataset)
    except (Unknown, AttributeError, TypeError, NotImplementedError):
        return None
