"""Compares running statistics of normalisation layers with what they normalise, in one forward pass in eval mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torchwhy.observe.torch_features.layer_kinds import BATCH_NORMS
from torchwhy.observe.torch_features.tensor_parts import has_values
from torchwhy.record.event import Event
from torchwhy.record.kept.kept_state import NormStatistics
from torchwhy.record.numbers import encode

OPERATIONS = {
    "batch_norm",
    "native_batch_norm",
    "cudnn_batch_norm",
    "miopen_batch_norm",
    "_batch_norm_impl_index",
    "_native_batch_norm_legit_no_training",
}
MEAN, VARIANCE = 3, 4  # positions of the running statistics in their arguments
MOST_LAYERS = 32
EPSILON = 1e-5


class NormLook:
    """Knows the layers of one model; the operations that use their statistics say what comes in."""

    def __init__(self, model: nn.Module) -> None:
        self._layers = {
            id(layer.running_mean): (name, layer)
            for name, layer in model.named_modules()
            if isinstance(layer, BATCH_NORMS) and isinstance(layer.running_mean, torch.Tensor)
        }
        self._seen: dict[str, dict[str, Any]] = {}

    def saw(self, name: str, args: tuple[Any, ...]) -> None:
        """Measure what an operation is about to normalise."""
        if name not in OPERATIONS or len(args) <= VARIANCE or len(self._seen) >= MOST_LAYERS:
            return
        found = self._layers.get(id(args[MEAN]))
        if found is not None and found[0] not in self._seen:
            self._seen[found[0]] = _measured(args[0], found[1])

    def tell(self, write: Callable[[Event], object], *, path: str, step: int) -> None:
        """Write what was measured of each layer."""
        for layer, facts in self._seen.items():
            if facts:
                write(NormStatistics(step=step, path=path, layer=layer, **facts))


def _measured(given: torch.Tensor, layer: Any) -> dict[str, Any]:
    mean, variance = layer.running_mean.detach(), layer.running_var.detach()
    if not all(has_values(one) for one in (given, mean, variance)) or given.dim() < 2:
        return {}
    values = given.detach().transpose(0, 1).reshape(given.shape[1], -1).float()
    if values.shape[1] < 2:
        return {}
    deviation = (variance.float() + EPSILON).sqrt()
    off = ((values.mean(1) - mean.float()) / deviation).square().mean().sqrt()
    ratio = ((values.var(1) + EPSILON) / (variance.float() + EPSILON)).log().mean().exp()
    tracked = layer.num_batches_tracked
    return {
        "kind": type(layer).__name__,
        "initial": not bool(mean.any().item()) and bool((variance == 1).all().item()),
        "scaled": any(_differs(one) for one in (layer.weight, layer.bias)),
        "batches": int(tracked.item()) if isinstance(tracked, torch.Tensor) else 0,
        "momentum": None if layer.momentum is None else float(layer.momentum),
        "moved": encode(_moved(values, mean.float(), variance.float())),
        "mean_off": encode(float(off.item())),
        "variance_ratio": encode(float(ratio.item())),
    }


def _moved(values: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> float:
    """Return how far statistics have gone from those of a new layer, 0 and 1, to those of what comes in."""
    ways = [(mean, values.mean(1)), (variance - 1, values.var(1) - 1)]
    return max(float((went.norm() / (way.norm() + EPSILON)).item()) for went, way in ways)


def _differs(values: torch.Tensor | None) -> bool:
    """Tell whether the channels of a weight differ, as they never do when a layer is new."""
    return values is not None and bool((values != values[:1]).any().item())
