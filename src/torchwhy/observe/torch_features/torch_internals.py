"""What else torchwhy asks of torch: schemas of operators, tables of the script compiler, files in tracebacks."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import torch

from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.resolve import get, is_there

_has_schemas = is_there("operator-schema")

# Ends of the names of files, as tracebacks show them.
OPERATIONS_FILE = f"torch{os.sep}_ops.py"
PRINTING_FILE = f"torch{os.sep}_tensor_str.py"
# Parts of torch that a step runs through; an error out of another (loading, compiling, devices) is no lost step.
STEP_FILES = (
    "nn",
    "_tensor.py",
    "functional.py",
    "autograd",
    "optim",
    "distributions",
    "_ops.py",
    "utils/checkpoint.py",
)
# Where schedules raise; it also wraps `step` of optimizers.
SCHEDULES_FILE = "/torch/optim/lr_scheduler.py"
RANKS_FOLDER = f"torch{os.sep}distributed{os.sep}"
DEVICE_START = "_lazy_init"  # a function that prepares a device
BACKWARD_ENTRY = "_engine_run_backward"


def schema_of(function: Any) -> Any:
    """Return the schema of an operator's overload, None where it has none."""
    return getattr(function, "_schema", None) if _has_schemas else None


def overload_name(function: Any) -> str:
    """Return the name of an operator's overload among those of its packet."""
    return str(function._overloadname)


def is_compiler_error(error: BaseException) -> bool:
    """Tell whether torch's compiler raised it."""
    return type(error).__module__.startswith("torch._dynamo")


def introduce_to_script(original: Any, stand_in: Any) -> Callable[[], object]:
    """Let `torch.jit.script` take a stand-in for the function it stands for; return how to undo it."""
    with suppress(ImportError, AttributeError):
        table = (get("script-builtins") or (dict,))[0]()
        if id(original) in table:
            table[id(stand_in)] = table[id(original)]
            return lambda: table.pop(id(stand_in), None)
    return lambda: None


def note_new_optimizers(
    replace: Callable[[Any, str, Any], object], noted: Callable[[Any], Any]
) -> None:
    """Put what `noted` makes of it into the place of the method that each new optimizer calls."""
    optimizer = torch.optim.Optimizer
    replace(optimizer, "_patch_step_function", noted(optimizer._patch_step_function))


def scaler_step_code() -> Any:
    """Return the code of GradScaler.step: gradients that are divided there are found finite or the step is skipped."""
    return torch.amp.GradScaler.step.__code__


def scaler_update_code() -> Any:
    """Return the code in which a GradScaler makes the step of an optimizer, None if this torch has none."""
    return getattr((get("scaler-update") or (None,))[0], "__code__", None)


def world_size() -> int:
    """Return the number of ranks, 1 when torch.distributed is not in use."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_world_size())
    return 1


def rank_and_world(rank: int) -> tuple[int, int]:
    """Return this process's rank and the number of ranks; before they meet, as the environment has them."""
    if world_size() > 1:
        return int(torch.distributed.get_rank()), world_size()
    return rank, int(os.environ.get("WORLD_SIZE", "1") or 1)


def default_store() -> Any:
    """Return the store over which the ranks found each other, None if there is none."""
    found = get("rank-store") if world_size() > 1 else None
    return None if found is None else found[0]()


def changes_reduction(wrapper: Any) -> bool:
    """Tell whether a DistributedDataParallel may do anything else with gradients than to average them."""
    return not is_there("reduction-hooks") or bool(getattr(wrapper, "_comm_hooks", ()))


def is_launchers_own(error: BaseException) -> bool:
    """Tell whether this is only torchrun's way to say that a process it started has failed."""
    return type(error).__module__.startswith("torch.distributed.elastic.")


def note_checkpoints(
    replace: Callable[[Any, str, Any], object], noted: Callable[[Any, FrameType], object]
) -> None:
    """Call `noted` with what `torch.load` has read, and its frame.

    It reads a file of either format by a function of its own, so no traceback of a missing file shows a frame of ours.
    """
    for original in get("checkpoint-reading") or ():
        replace(torch.serialization, original.__name__, _noting_result(original, noted))


def _noting_result(original: Any, noted: Callable[[Any, FrameType], object]) -> Any:
    @functools.wraps(original)
    def reading(*args: Any, **kwargs: Any) -> Any:
        found = original(*args, **kwargs)
        noted(found, frame_at(1))
        return found

    return reading
