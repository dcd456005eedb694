"""Follows the loss scale of GradScalers: skipped steps are normal, a scale that collapses is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchwhy.observe.hooks import Hooks
from torchwhy.observe.stands import NotedOnAccess


def install(
    hooks: Hooks, scaled: Callable[[Any], object], unscaled: Callable[[Any], object]
) -> None:
    """Call `scaled` when a scaler multiplies a loss and `unscaled` when it divides the gradients again."""
    scaler = torch.amp.GradScaler
    hooks.replace(scaler, "scale", NotedOnAccess(scaler.scale, scaled))
    hooks.replace(scaler, "unscale_", NotedOnAccess(scaler.unscale_, unscaled))
