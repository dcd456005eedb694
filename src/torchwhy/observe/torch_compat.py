"""Every private torch name used anywhere in torchwhy, in one file, each with what happens when it is gone."""

from __future__ import annotations

import dis
import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar, cast

import torch
from torch.autograd.variable import Variable
from torch.nn.modules import module as _module
from torch.utils import _python_dispatch
from torch.utils.data import dataloader as _dataloader
from torch.utils.data._utils import fetch as _fetch
from torch.utils.data._utils import worker as _worker

Function = TypeVar("Function", bound=Callable[..., Any])

# Called at every step, so without a function of ours around them.
dispatch_depth: Callable[[], int] = torch._C._len_torch_dispatch_stack
function_depth: Callable[[], int] = torch._C._len_torch_function_stack
DisableTorchFunction: Any = torch._C.DisableTorchFunction
_pop: Any = torch._C._pop_torch_dispatch_stack
_push: Any = torch._C._push_on_torch_dispatch_stack
next_sequence: Callable[[], int] = torch._C._autograd._get_sequence_nr
item: Callable[[Any], Any] = torch._C.TensorBase.item  # not the one that notes who reads
check_together: Any = getattr(torch, "_amp_foreach_non_finite_check_and_unscale_", None)


def exchange_table() -> Any:
    """Return the table of C functions by which torch offers its tensors to others; None: no accelerator."""
    return getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)


def engine_holder() -> Any:
    """Return the class that holds the autograd engine as `_execution_engine`; without it losses go unseen."""
    return Variable


def loader_iterator_class() -> type:
    """Return the base class of all DataLoader iterators; without it batches go unseen."""
    return _dataloader._BaseDataLoaderIter


def fetch_again(iterator: Any, indices: list[int] | None) -> Any:
    """Return the batch of these indices made anew in this process; None for a loader that makes none by index."""
    kinds = _dataloader._DatasetKind
    if indices is None or iterator._dataset_kind != kinds.Map or not iterator._auto_collation:
        return None
    fetcher = kinds.create_fetcher(
        kinds.Map,
        iterator._dataset,
        iterator._auto_collation,
        iterator._collate_fn,
        iterator._drop_last,
    )
    return fetcher.fetch(indices)


def scale_tensor(scaler: Any) -> Any:
    """Return the tensor that holds a GradScaler's scale, None before its first use; without it no cruise under one."""
    return getattr(scaler, "_scale", None)


def scaler_step_code() -> Any:
    """Return the code of GradScaler.step: gradients that are divided there are found finite or the step is skipped."""
    return torch.amp.GradScaler.step.__code__


def fetching_code() -> tuple[Any, ...]:
    """Return the code objects in which a loader fetches samples; what torch computes inside is its own business."""
    kinds = (_fetch._MapDatasetFetcher, _fetch._IterableDatasetFetcher)
    return tuple(kind.fetch.__code__ for kind in kinds)


def fetches_by_itself(iterator: Any) -> bool:
    """Tell whether a loader's samples are made by torch alone: rows of tensors, put together as torch does."""
    dataset = getattr(iterator, "_dataset", None)
    while type(dataset) is torch.utils.data.Subset:
        dataset = dataset.dataset
    return (
        type(dataset) is torch.utils.data.TensorDataset
        and getattr(iterator, "_collate_fn", None) is torch.utils.data.default_collate
        and getattr(iterator, "_num_workers", None) == 0
    )


def loader_worker_module() -> Any:
    """Return the module whose `_worker_loop` a loader's worker runs; without it spawned workers are watched, too."""
    return _worker


def backward_entry_code() -> Any:
    """Return the code object whose frame separates backward from what called it; None: no separation."""
    function = getattr(torch.autograd.graph, "_engine_run_backward", None)
    return getattr(function, "__code__", None)


def root_gradients_code() -> Any:
    """Return the code object that makes the ones a backward pass begins with; None: they are looked at."""
    return getattr(getattr(torch.autograd, "_make_grads", None), "__code__", None)


current_node_of_torch: Callable[[], Any] = torch._C._current_autograd_node


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
    return weak_reference()(tensor.untyped_storage())


@functools.lru_cache(maxsize=1)
def weak_reference() -> Any:
    """Return the class of weak references to memory, whose `cdata` is the memory's key."""
    from torch.multiprocessing.reductions import StorageWeakRef

    return StorageWeakRef


class _Hidden(threading.local):
    """The dispatch modes of this thread, bottom first, while they are hidden from what we compute."""

    modes: list[Any] | None = None
    inside = False


_hidden = _Hidden()


@contextmanager
def without_dispatch_modes() -> Iterator[list[Any]]:
    """Take all dispatch modes off for a while: the program's own must not see what we compute.

    Torch's own `_disable_current_modes` does the same, but imports all of its compiler on the way: 1.6 s.
    """
    if _hidden.modes is not None:
        yield _hidden.modes
        return
    count = torch._C._len_torch_dispatch_stack()
    _hidden.modes = [_python_dispatch._pop_mode() for _ in range(count)][::-1]
    try:
        yield _hidden.modes
    finally:
        modes, _hidden.modes = _hidden.modes, None
        for mode in modes:
            _python_dispatch._push_mode(mode)


def active_modes() -> list[Any]:
    """Return the dispatch modes of this thread, bottom first, also while they are hidden."""
    with without_dispatch_modes() as modes:
        return list(modes)


def put_on(mode: Any) -> None:
    """Enter a dispatch mode, as the innermost one."""
    if _hidden.modes is None:
        mode.__enter__()
        return
    mode.__enter__()
    _python_dispatch._pop_mode()
    _hidden.modes.append(mode)


def take_off(mode: Any) -> bool:
    """Leave a dispatch mode, wherever it stands among the program's; False while it is handling an operation."""
    with without_dispatch_modes() as modes:
        place = next((i for i, other in enumerate(modes) if other is mode), None)
        if place is None:
            return False
        modes.pop(place)
        if place < len(modes):
            # The mode above has noted what it found when it came, and will restore it: that is now our own note.
            for name, flags in vars(mode).items():
                if name.startswith("old_") and name.endswith("_flags") and flags:
                    vars(modes[place])[name][-1] = flags.pop()
        else:
            _python_dispatch._push_mode(mode)
            mode.__exit__(None, None, None)
        return True


def unseen(function: Function) -> Function:
    """Return `function` made invisible to modes and tensor subclasses of the program; 0.5 µs a call."""

    @functools.wraps(function)
    def hidden(*args: Any, **kwargs: Any) -> Any:
        count = dispatch_depth()
        if count and _hidden.modes is not None:
            with DisableTorchFunction(), without_dispatch_modes():
                return function(*args, **kwargs)
        if count:  # as `without_dispatch_modes` does, without its generator: this runs often in a watched step
            modes = _hidden.modes = [_pop(None) for _ in range(count)][::-1]
            try:
                with DisableTorchFunction():
                    return function(*args, **kwargs)
            finally:
                _hidden.modes = None
                for mode in modes:
                    _push(mode)
        if _hidden.inside:
            return function(*args, **kwargs)  # one of ours called us: hidden already
        _hidden.inside = True
        try:
            with DisableTorchFunction():
                return function(*args, **kwargs)
        finally:
            _hidden.inside = False

    return cast("Function", hidden)


def has_values(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor's numbers can be read: not under `vmap`, nor of one that has no memory."""
    is_wrapped = getattr(torch._C._functorch, "is_functorch_wrapped_tensor", None)
    if is_wrapped is not None and is_wrapped(tensor):
        return False
    if tensor.is_meta or tensor.is_nested or tensor._is_zerotensor():
        return False
    if type(tensor).__name__ in ("FakeTensor", "FunctionalTensor"):
        return False
    # Sharded training frees the memory of weights between uses: reading it would end the process.
    has_memory = (
        type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout is not torch.strided
    )
    return has_memory or tensor.numel() == 0 or tensor.data_ptr() != 0


def version_of(tensor: torch.Tensor) -> int:
    """Return how often a tensor was changed in place; -1 where torch does not count, in inference mode."""
    return -1 if tensor.is_inference() else tensor._version


def is_tracing() -> bool:
    """Tell whether values are stand-ins: under `torch.jit.trace`, which records what is computed, and `vmap`."""
    level = getattr(torch._C._functorch, "maybe_current_level", lambda: None)
    return bool(torch._C._get_tracing_state()) or level() is not None


def introduce_to_script(original: Any, stand_in: Any) -> Callable[[], object]:
    """Let `torch.jit.script` take a stand-in for the function it stands for; return how to undo it."""
    with suppress(ImportError, AttributeError):
        from torch.jit import _builtins

        table = _builtins._get_builtin_table()
        if id(original) in table:
            table[id(stand_in)] = table[id(original)]
            return lambda: table.pop(id(stand_in), None)
    return lambda: None


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


def module_call_code() -> Any:
    """Return the code of a module's call; inside of it a nested function runs the hooks, when there are any."""
    return torch.nn.Module._call_impl.__code__


@functools.lru_cache(maxsize=1)
def unhooked_call() -> tuple[int, int]:
    """Return the instruction and line at which a module without hooks calls its `forward`."""
    code = module_call_code()
    call = next((i for i in dis.get_instructions(code) if i.opname == "CALL_FUNCTION_EX"), None)
    offset = call.offset if call is not None else 0
    lines = [line for start, end, line in code.co_lines() if start <= offset < end and line]
    return offset, lines[0] if lines else code.co_firstlineno


def has_foreign_hooks(module: Any, own_package: str) -> bool:
    """Tell whether a module's call would run hooks even without those of `own_package`."""
    kinds = ("backward_hooks", "backward_pre_hooks", "forward_hooks", "forward_pre_hooks")
    if any(getattr(module, f"_{kind}", None) for kind in kinds):
        return True
    tables = [getattr(_module, f"_global_{kind}", {}) for kind in kinds]
    hooks = [hook for table in tables for hook in table.values()]
    return any(not str(getattr(hook, "__module__", "")).startswith(own_package) for hook in hooks)


def is_launchers_own(error: BaseException) -> bool:
    """Tell whether this is only torchrun's way to say that a process it started has failed."""
    return type(error).__module__.startswith("torch.distributed.elastic.")
