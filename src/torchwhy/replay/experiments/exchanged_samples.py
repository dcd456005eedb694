"""Two samples in each other's place: does a model give each the same output as before?"""

from __future__ import annotations

from typing import Any

import torch

from torchwhy.observe.torch_features.tensor_parts import precise

TOLERANCE = 1e-5  # of the largest output: rounding changes an output by 1e-7 of it, a neighbour by 1e-3 and more


def is_alone(inputs: tuple[Any, ...]) -> bool:
    """Tell whether a model gets a single tensor; others may belong to the samples, too."""
    return sum(isinstance(value, torch.Tensor) for value in inputs) == 1


def exchanged(given: Any, axis: int, one: int, other: int) -> Any:
    """Return a tensor with two samples in each other's place."""
    if given is None:
        return None
    turned = given.detach().clone()
    turned.select(axis, one).copy_(given.detach().select(axis, other))
    turned.select(axis, other).copy_(given.detach().select(axis, one))
    return turned


def largest_difference(before: Any, after: Any) -> float:
    """Return the largest difference between two outputs, relative to their size; 0 if it is rounding."""
    if before is None or after is None or before.shape != after.shape:
        return 0.0
    size = float(precise(before).abs().max().item())
    difference = float((precise(before) - precise(after)).abs().max().item())
    return difference / size if size and difference > TOLERANCE * size else 0.0
