"""Sees every backward pass and its roots, the losses, just before the engine runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torchwhy.observe import torch_compat
from torchwhy.observe.descriptors import Stands
from torchwhy.observe.hooks import Hooks


def install(hooks: Hooks, note: Callable[..., object], stands: Stands) -> None:
    """Put the noting engine in the place of torch's; `note` is given the roots of each backward pass."""
    holder = torch_compat.engine_holder()

    def noted(variables: Mapping[str, Any]) -> None:
        keywords = variables.get("kwargs", {})
        accumulates = bool(keywords.get("accumulate_grad", True))
        note(variables.get("t_outputs", ()), accumulates=accumulates)

    hooks.replace(holder, "_execution_engine", stands.engine(holder._execution_engine, noted))
