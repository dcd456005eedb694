"""What a loader's iterator is made of: its dataset, its settings, and the code in which it fetches samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from torchwhy.observe.torch_features.interpreter import is_in_child_process
from torchwhy.observe.torch_features.resolve import get, is_there

COUNTED, SAMPLED = "_num_yielded", "_sampler_iter"  # attributes that change with every batch
HANDED_OUT = "data"  # the variable in which an iterator's `__next__` has the batch

_has_settings = is_there("loader-settings")


def loader_iterator_class() -> Any:
    """Return the base class of all iterators of a DataLoader, None where it is not known."""
    found = get("loader-iterator")
    return None if found is None else found[0]


def is_loader_iterator(value: Any) -> bool:
    """Tell whether something is the iterator of a DataLoader."""
    base = loader_iterator_class()
    return base is not None and isinstance(value, base)


def yielded_by(iterator: Any) -> int:
    """Return how many batches an iterator has handed out."""
    return int(getattr(iterator, COUNTED, 0))


def dataset_of(iterator: Any, default: Any = None) -> Any:
    """Return the dataset that an iterator draws from."""
    return getattr(iterator, "_dataset", default) if _has_settings else default


def collate_of(iterator: Any) -> Any:
    """Return the function that puts the samples of a batch together."""
    return getattr(iterator, "_collate_fn", None) if _has_settings else None


def sampler_of(iterator: Any) -> Any:
    """Return the sampler of indices, which knows the size of a batch."""
    return getattr(iterator, "_index_sampler", None) if _has_settings else None


def workers_of(iterator: Any) -> int:
    """Return how many worker processes an iterator has."""
    return int(getattr(iterator, "_num_workers", 0)) if _has_settings else 0


def worker_start_of(iterator: Any) -> Any:
    """Return the function with which the program starts a worker, None if it has none."""
    return getattr(iterator, "_worker_init_fn", None) if is_there("worker-start") else None


def gives_in_order(iterator: Any) -> bool:
    """Tell whether an iterator gives batches in the order in which it drew their indices."""
    return bool(getattr(iterator, "_in_order", True))


def keeps_order(iterator: Any) -> bool:
    """Tell whether the rows of a batch are surely in the order of its indices: torch put them together."""
    collate = collate_of(iterator)
    return (
        collate is torch.utils.data.default_collate or collate is torch.utils.data.default_convert
    )


def fetches_by_itself(iterator: Any) -> bool:
    """Tell whether a loader's samples are made by torch alone: rows of tensors, put together as torch does."""
    return bool(row_tensors_of(iterator)) and workers_of(iterator) == 0


def row_tensors_of(iterator: Any) -> tuple[torch.Tensor, ...]:
    """Return the tensors whose rows a loader puts together as torch does, one for each part of a batch."""
    dataset = dataset_of(iterator)
    while type(dataset) is torch.utils.data.Subset:
        dataset = dataset.dataset
    if type(dataset) is not torch.utils.data.TensorDataset:
        return ()
    return dataset.tensors if collate_of(iterator) is torch.utils.data.default_collate else ()


def fetch_again(iterator: Any, indices: list[int] | None) -> Any:
    """Return the batch of these indices made anew in this process; None for a loader that makes none by index."""
    if indices is None or not (is_there("loader-fetcher") and _has_settings):
        return None
    from torch.utils.data.dataloader import _DatasetKind as Kinds

    if iterator._dataset_kind != Kinds.Map or not iterator._auto_collation:
        return None
    fetcher = Kinds.create_fetcher(
        Kinds.Map,
        dataset_of(iterator),
        iterator._auto_collation,
        collate_of(iterator),
        iterator._drop_last,
    )
    return fetcher.fetch(indices)


def fetching_code() -> tuple[Any, ...]:
    """Return the code in which a loader fetches samples by index and from a stream: what torch computes there."""
    found = get("fetching")
    return (None, None) if found is None else tuple(fetch.__code__ for fetch in found[:2])


def fetched_in(filename: str, variables: Mapping[str, Any]) -> tuple[Any, Any, Any] | None:
    """Return indices, finished samples and the index in hand from a frame of torch's fetcher, None for another."""
    if not is_there("fetching") or not filename.endswith("fetch.py"):
        return None
    return variables.get("possibly_batched_index"), variables.get("data"), variables.get("idx")


def leave_in_workers(
    replace: Callable[[Any, str, Any], object], leave: Callable[[], object]
) -> None:
    """In a process that was spawned: call `leave` should it turn out to be a loader's worker."""
    if not is_there("loader-workers") or not is_in_child_process():
        return
    from torch.utils.data._utils import worker

    work = worker._worker_loop

    def leaving(*args: Any, **kwargs: Any) -> Any:
        leave()
        return work(*args, **kwargs)

    replace(worker, "_worker_loop", leaving)
