"""Notes the losses that the program reads itself, because some programs stop before `backward` on a bad one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch

from torchwhy.observe.descriptors import Descriptors
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.native.records import fast
from torchwhy.observe.steps.loss_scale import LossScale
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.compiler import shown_as
from torchwhy.observe.torch_features.mode_stack import (
    DisableTorchFunction,
    function_depth,
    is_computing,
    unseen,
)
from torchwhy.observe.torch_features.tensor_parts import item
from torchwhy.observe.torch_features.torch_internals import introduce_to_script

GROUP = "reads"
FUNCTION_NEEDS = ("script-builtins",)


def note_of(
    note: Callable[[Any, Any], object],
    evaluated: Callable[[Any], object],
    later: Callable[[Any], object],
    *,
    sentinel: Any,
    state: TrainingState,
    scale: LossScale,
) -> Callable[[Any], None]:
    """Return what to call with every tensor that the program reads or judges."""

    def noted(tensor: Any) -> None:
        if state.in_update or scale.scaler_answers or is_computing():
            return  # the optimizer reads, we do, or the scaler between its check of gradients and the step
        if type(tensor) is torch.Tensor and not function_depth():
            if tensor.requires_grad and tensor.numel() == 1:
                note(tensor, sentinel)
            elif tensor.numel() == 1:
                if not torch.is_grad_enabled():
                    evaluated(tensor)
                elif state.bad_evaluations or _is_bad(tensor):
                    later(tensor)  # it is NaN or infinite, or another was
        elif isinstance(tensor, torch.Tensor):
            # A tensor subclass of the program must not see us, and some kinds of tensors refuse to answer.
            with suppress(Exception), DisableTorchFunction():
                if tensor.requires_grad and tensor.numel() == 1:
                    note(tensor, sentinel)

    return noted


def _is_bad(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor of one number is NaN or infinite."""
    if fast is not None and fast.surely_finite(tensor):
        return False
    value = _item_unseen(tensor)
    return bool(value - value != 0)


_item_unseen = unseen(item)


def install(
    hooks: Hooks, noted: Callable[[Any], object], state: TrainingState, descriptors: Descriptors
) -> None:
    """Notice `loss.item()`, `float(loss)` and `loss.isnan()`."""
    for name in ("item", "__float__", "isnan", "isfinite", "isinf"):
        original = getattr(torch.Tensor, name)
        hooks.replace(torch.Tensor, name, descriptors.read(original, noted, state), group=GROUP)


def install_functions(hooks: Hooks, noted: Callable[[Any], object]) -> None:
    """Notice `torch.isnan(loss)`, which `torch.jit.script` has to know as before."""
    for name in ("isnan", "isfinite", "isinf"):
        original = getattr(torch, name)
        replacement = _noting(original, noted, name)
        hooks.replace_function(torch, name, replacement, group=GROUP)
        hooks.add(introduce_to_script(original, replacement), group=GROUP)


def _noting(
    function: Callable[..., Any], note: Callable[[Any], object], name: str
) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if args:
            note(args[0])
        return function(*args, **kwargs)

    wrapper.__module__, wrapper.__qualname__ = "torch", name  # by these it can be pickled
    return shown_as(wrapper, function)
