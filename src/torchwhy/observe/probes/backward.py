"""Sees every backward pass and its roots, the losses, just before the engine runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torchwhy.observe.descriptors import Descriptors
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.torch_features.autograd_nodes import OPTIONS, ROOTS, replace_engine
from torchwhy.observe.torch_features.compiler import is_compiling, uncompiled

NEEDS = ("engine",)


def install(hooks: Hooks, note: Callable[..., object], descriptors: Descriptors) -> None:
    """Replace torch's engine; `note` is called with the roots of each backward pass."""

    @uncompiled
    def noted(variables: Mapping[str, Any]) -> None:
        if is_compiling():
            return  # the compiler differentiates to find the graph of the backward pass
        accumulates = variables.get(OPTIONS, {}).get("accumulate_grad", True)
        note(variables.get(ROOTS, ()), accumulates=bool(accumulates))

    replace_engine(hooks.replace_unseen, lambda engine: descriptors.engine(engine, noted))
