"""Follows the loss scale of GradScalers: skipped steps are normal, a scale that collapses is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchwhy.observe.descriptors import NotedOnAccess
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.torch_internals import scaler_step_code


def install(
    hooks: Hooks, scaled: Callable[[Any], object], unscaled: Callable[[Any, bool], object]
) -> None:
    """Call `scaled` when a scaler multiplies a loss, and `unscaled` when it divides the gradients again.

    The latter gets whether that happens inside of its step, so that nothing can change the gradients in between.
    """
    scaler = torch.amp.GradScaler
    step = scaler_step_code()

    def divided(instance: Any) -> None:
        unscaled(instance, frame_at(2).f_code is step)

    hooks.replace(scaler, "scale", NotedOnAccess(scaler.scale, scaled))
    hooks.replace(scaler, "unscale_", NotedOnAccess(scaler.unscale_, divided))
