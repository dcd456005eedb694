"""Reads all numbers of a step on an accelerator at once, because each reading waits for the device.

The thorough way's counterpart to `Cruise._take_numbers`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer
from torchwhy.observe.probes.weights import chosen, norms_in
from torchwhy.observe.steps.gradients import read_together, sums_of
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.plain_data import dataclass


@dataclass(frozen=True)
class StepNumbers:
    """What was read: losses as they came, the scale of a GradScaler, sums of gradients, norms."""

    losses: list[float]
    scale: float | None
    has_finite_sums: bool
    norms: list[float]


def is_on_device(tensors: Sequence[torch.Tensor | None]) -> bool:
    """Tell whether the gradients of a step are on an accelerator; of several places, where the first one is."""
    first = next((tensor for tensor in tensors if tensor is not None), None)
    return first is not None and first.device.type != "cpu"


def sampled(
    watched: WatchedOptimizer, gradients: Sequence[torch.Tensor | None]
) -> list[torch.Tensor | None]:
    """Return the gradients and weights that a sampled step measures."""
    parameters = watched.parameters()
    picks = chosen(parameters)
    return [*(gradients[i] for i in picks), *(parameters[i] for i in picks)]


@unseen
def read(
    losses: Sequence[torch.Tensor | float],
    scale: torch.Tensor | None,
    *,
    gradients: Sequence[torch.Tensor | None],
    measured: Sequence[torch.Tensor | None],
) -> StepNumbers:
    """Return the numbers of one step, with one wait for each device on which they are."""
    parts = [losses, [] if scale is None else [scale], sums_of(gradients), norms_in(measured)]
    values = iter(read_together([number for part in parts for number in part]))
    read_losses, scales, sums, norms = ([next(values) for _ in part] for part in parts)
    return StepNumbers(
        losses=read_losses,
        scale=scales[0] if scales else None,
        has_finite_sums=all(map(math.isfinite, sums)),
        norms=norms,
    )
