"""Sees every backward pass and its roots, the losses, just before the engine runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torchwhy.observe.descriptors import Descriptors
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.torch_features.autograd_nodes import OPTIONS, ROOTS, replace_engine

NEEDS = ("engine",)


def install(hooks: Hooks, note: Callable[..., object], descriptors: Descriptors) -> None:
    """Replace torch's engine; `note` is called with the roots of each backward pass."""

    def noted(variables: Mapping[str, Any]) -> None:
        accumulates = variables.get(OPTIONS, {}).get("accumulate_grad", True)
        note(variables.get(ROOTS, ()), accumulates=bool(accumulates))

    replace_engine(hooks.replace, lambda engine: descriptors.engine(engine, noted))
