"""Makes a step with a closure look like any other, so that its update can be judged, withheld and repeated.

All optimizers of torch but LBFGS call the closure once, before they read a gradient. A hook calls it a moment earlier:
then gradients are there when the step is judged, and the step gets a closure that returns the same loss.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook


class ClosureSteps:
    """Two hooks around those of a block: one runs the closure before the step is judged, one gives its loss back."""

    def __init__(self) -> None:
        self._handles: list[Any] = []
        self._loss: list[Any] = []  # of the step that is being made

    def put_on_first(self) -> None:
        """Put the hook on that comes before those of the block."""
        self._handles.append(register_optimizer_step_pre_hook(self._run))

    def put_on_last(self) -> None:
        """Put the hook on that comes after those of the block."""
        self._handles.append(register_optimizer_step_pre_hook(self._give_back))

    def take_off(self) -> None:
        """Take both hooks off."""
        while self._handles:
            self._handles.pop().remove()
        self._loss.clear()

    def _run(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        __tracebackhide__ = True
        self._loss.clear()
        closure = args[1] if len(args) == 2 else kwargs.get("closure")
        others = len(args) > 2 or kwargs.keys() - {"closure"}
        if closure is None or others or not _calls_it_once(optimizer):
            return None
        with torch.enable_grad():
            self._loss.append(closure())
        return args[:1], {}

    def _give_back(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG002 - torch's signature
        if not self._loss:
            return None
        loss = self._loss.pop()
        return args, {"closure": lambda: loss}


def _calls_it_once(optimizer: Any) -> bool:
    kind = type(optimizer)
    return kind.__module__.startswith("torch.optim.") and not isinstance(
        optimizer, torch.optim.LBFGS
    )
