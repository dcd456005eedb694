"""What a tensor says about itself in private: its memory, how often it was written, whether it has numbers at all."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import torch

from torchwhy.observe.torch_features.resolve import get, is_there

has_versions = is_there("versions")
has_memory = is_there("memory")
PLAIN = (torch.Tensor, torch.nn.Parameter)
# Not imported before the program does: that takes a second.
OF_RANKS = (
    ("torch.distributed.tensor", "DTensor"),
    ("torch.distributed._functional_collectives", "AsyncCollectiveTensor"),
)
_writes = count(1).__next__
_is_wrapped: Any = (get("transforms") or (None,))[0]
_is_traced: Callable[[], bool] = torch.jit.is_tracing  # type: ignore[attr-defined]
_level: Callable[[], Any] = (get("transforms") or (None, lambda: None))[1]
_is_zero: Callable[[Any], bool] = (get("zero-tensors") or (lambda _: False,))[0]

# Not the ones that note who reads: this module is imported before hooks are put on.
item: Callable[[Any], Any] = torch.Tensor.item
check_together: Any = (get("check-together") or (None,))[0]


def exchange_table() -> Any:
    """Return the table of C functions by which torch offers its tensors to others; None: no accelerator."""
    return (get("tensor-exchange") or (None,))[0]


def is_of_ranks(kind: type) -> bool:
    """Tell whether a type of tensors belongs to several ranks, as DTensor: an operation on one may wait for all."""
    if kind in PLAIN:
        return False
    known = (sys.modules.get(module) for module, _ in OF_RANKS)
    classes = (getattr(one, name, None) for one, (_, name) in zip(known, OF_RANKS, strict=True))
    return any(one is not None and issubclass(kind, one) for one in classes)


def local_part(tensor: torch.Tensor) -> torch.Tensor:
    """Return the plain tensor that this rank holds of a DTensor, without a word to the others; any other as it is."""
    if type(tensor) in PLAIN or not is_of_ranks(type(tensor)):
        return tensor
    with torch.no_grad():
        part: Any = getattr(tensor, "to_local", lambda: tensor)()
        # What a collective is still bringing is of a type of its own, with a method to wait for it.
        arrived: torch.Tensor = part if type(part) in PLAIN else part.wait()
    return arrived


def storage_key(tensor: torch.Tensor) -> int | None:
    """Return what identifies the memory of a tensor while it lives; None for tensors without plain memory."""
    if not has_memory:
        return None
    try:
        return int(local_part(tensor).untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):
        return None


def weak_storage(tensor: torch.Tensor) -> Any:
    """Return a weak reference to a tensor's memory; while it is held, the memory's key is not used again."""
    return weak_reference()(local_part(tensor).untyped_storage())


@functools.lru_cache(maxsize=1)
def weak_reference() -> Any:
    """Return the class of weak references to memory, whose `cdata` is the memory's key."""
    found = get("memory")
    return (lambda _: None) if found is None else found[1]


def has_values(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor's numbers can be read: not under `vmap`, nor of one that has no memory."""
    if _is_wrapped is not None and _is_wrapped(tensor):
        return False
    if tensor.is_meta or tensor.is_nested or _is_zero(tensor):
        return False
    if type(tensor).__name__ in ("FakeTensor", "FunctionalTensor"):
        return False
    # Sharded training frees the memory of weights between uses: reading it would end the process.
    is_other = type(tensor) not in PLAIN or tensor.layout is not torch.strided
    return is_other or tensor.numel() == 0 or tensor.data_ptr() != 0


def gradient_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return the gradient that a backward pass left on a tensor, of a DTensor this rank's part of it.

    Torch warns whoever reads that of a tensor inside a graph, where backward passes leave none.
    """
    gradient = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
    return gradient if type(gradient) is torch.Tensor or gradient is None else local_part(gradient)


def is_part(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor is a view of larger memory, which it would keep alive."""
    try:
        return tensor.untyped_storage().nbytes() > tensor.numel() * tensor.element_size()
    except (RuntimeError, NotImplementedError):
        return False


def gradient_version(parameter: torch.Tensor) -> int:
    """Return how often a gradient was changed in place; that of a DTensor counts where its local part does not."""
    return -1 if parameter.grad is None else version_of(parameter.grad)


def version_of(tensor: torch.Tensor) -> int:
    """Return how often a tensor was changed in place; -1 where torch does not count, in inference mode.

    Where no tensor counts, it is another number at each call: whatever is compared may have been changed.
    """
    if not has_versions:
        return _writes()
    return -1 if tensor.is_inference() else tensor._version


def is_tracing() -> bool:
    """Tell whether values are stand-ins: under `torch.jit.trace`, which records what is computed, and `vmap`."""
    return bool(_is_traced()) or _level() is not None


def values_of_sparse(tensor: torch.Tensor) -> torch.Tensor:
    """Return the values of a sparse tensor, those of one place side by side where torch lets us see them."""
    return tensor._values() if is_there("sparse-values") else tensor.coalesce().values()


def norms_of(tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """Return the norm of each tensor."""
    found = get("norms-together")
    if found is None:
        return [torch.linalg.vector_norm(tensor) for tensor in tensors]
    norms: Sequence[torch.Tensor] = found[0](tensors)
    return norms


def precise(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor in float64, in float32 on a device that does not have the former, such as MPS."""
    kind = tensor.device.type
    if kind not in _without_float64:
        try:
            return tensor.double()
        except TypeError:
            _without_float64.add(kind)
    return tensor.float()


_without_float64: set[str] = set()


def copy_all(copies: Sequence[torch.Tensor], tensors: Sequence[torch.Tensor]) -> None:
    """Write the values of each tensor into its copy."""
    found = get("copies-together")
    if found is not None:
        found[0](copies, tensors)
        return
    for copy, tensor in zip(copies, tensors, strict=True):
        copy.copy_(tensor)


def scale_tensor(scaler: Any) -> Any:
    """Return the tensor that holds a GradScaler's scale, None before its first use; without it no cruise under one."""
    return getattr(scaler, "_scale", None) if is_there("loss-scale") else None


def is_capturing_device_graph() -> bool:
    """Tell whether a CUDA graph is being captured, when nothing may be read back."""
    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()
