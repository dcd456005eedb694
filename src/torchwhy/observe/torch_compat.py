"""Every private torch name used anywhere in torchwhy, in one file, each with what happens when it is gone."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.variable import Variable
from torch.utils.data import dataloader as _dataloader


def engine_holder() -> Any:
    """Return the class that holds the autograd engine as `_execution_engine`; without it losses go unseen."""
    return Variable


def loader_iterator_class() -> type:
    """Return the base class of all DataLoader iterators; without it batches go unseen."""
    return _dataloader._BaseDataLoaderIter


def backward_entry_code() -> Any:
    """Return the code object whose frame separates backward from what called it; None: no separation."""
    function = getattr(torch.autograd.graph, "_engine_run_backward", None)
    return getattr(function, "__code__", None)


def current_node() -> Any:
    """Return the autograd node being evaluated, None outside of backward."""
    return torch._C._current_autograd_node()


def sequence_number() -> int:
    """Return the number the next autograd node of this thread will get."""
    return int(torch._C._autograd._get_sequence_nr())


def node_sequence(node: Any) -> int:
    """Return an autograd node's own number; -1 where it has none."""
    get = getattr(node, "_sequence_nr", None)
    return int(get()) if get is not None else -1


def storage_key(tensor: torch.Tensor) -> int | None:
    """Return what identifies the memory of a tensor while it lives; None for tensors without plain memory."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):
        return None


def weak_storage(tensor: torch.Tensor) -> Any:
    """Return a weak reference to a tensor's memory; while it is held, the memory's key is not used again."""
    from torch.multiprocessing.reductions import StorageWeakRef  # noqa: PLC0415 - slow import, rarely needed

    return StorageWeakRef(tensor.untyped_storage())


def top_dispatch_mode() -> Any:
    """Return the innermost active dispatch mode, None if there is none."""
    count = torch._C._len_torch_dispatch_stack()
    return torch._C._get_dispatch_stack_at(count - 1) if count else None


def is_capturing_device_graph() -> bool:
    """Tell whether a CUDA graph is being captured, when nothing may be read back."""
    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()


def world_size() -> int:
    """Return the number of ranks, 1 when torch.distributed is not in use."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_world_size())
    return 1


def force_eager(on: bool) -> None:  # noqa: FBT001 - a switch
    """Make compiled code run eagerly, or as it was; without set_stance an active dispatch mode does it."""
    set_stance = getattr(torch.compiler, "set_stance", None)
    if set_stance is not None:
        set_stance("force_eager" if on else "default")
