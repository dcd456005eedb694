"""Remembers the last loss that the program itself looked at, for programs that stop before `backward` on a bad one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchwhy.observe.hooks import Hooks
from torchwhy.observe.probes.access import NotedOnAccess

GROUP = "reads"


def install(hooks: Hooks, note: Callable[[Any], object]) -> None:
    """Notice `loss.item()`, `float(loss)`, `loss.isnan()` and `torch.isnan(loss)`; taken off when the program compiles."""

    def noted(tensor: Any) -> None:
        if isinstance(tensor, torch.Tensor) and tensor.requires_grad and tensor.numel() == 1:
            note(tensor)

    for name in ("item", "__float__", "isnan", "isfinite", "isinf"):
        original = getattr(torch.Tensor, name)
        hooks.replace(torch.Tensor, name, NotedOnAccess(original, noted), group=GROUP)
    for name in ("isnan", "isfinite", "isinf"):
        hooks.replace(torch, name, _noting(getattr(torch, name), noted), group=GROUP)


def _noting(function: Callable[..., Any], note: Callable[[Any], object]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if args:
            note(args[0])
        return function(*args, **kwargs)

    wrapper.__name__ = function.__name__
    wrapper.__doc__ = function.__doc__
    return wrapper
