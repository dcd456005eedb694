"""Sees every backward pass and its roots, the losses, just before the engine runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from torchwhy.observe import torch_compat
from torchwhy.observe.hooks import Hooks


class NotedEngine:
    """Stands in for torch's engine: looking up `run_backward` notes what is about to be differentiated.

    The original bound method is handed out, so torch's own frame makes the call and tracebacks stay torch's.
    """

    def __init__(self, engine: Any, note: Callable[..., object]) -> None:
        self.__dict__["_engine"] = engine
        self.__dict__["_note"] = note

    @property
    def run_backward(self) -> Any:
        """Note the roots found in the caller's frame and return the engine's own method."""
        variables = sys._getframe(1).f_locals
        outputs = variables.get("t_outputs", ())
        keywords = variables.get("kwargs", {})
        self._note(outputs, accumulates=bool(keywords.get("accumulate_grad", True)))
        return self._engine.run_backward

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def install(hooks: Hooks, note: Callable[..., object]) -> None:
    """Put the noting engine in the place of torch's."""
    holder = torch_compat.engine_holder()
    hooks.replace(holder, "_execution_engine", NotedEngine(holder._execution_engine, note))
