"""Measures a tensor: in one pass of the accelerator, else by torch.

The accelerator handles plain floats on the CPU, and returns None for all others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from torchwhy.observe.native.records import fast
from torchwhy.observe.probes.weights import root_mean_squares
from torchwhy.observe.torch_features.tensor_parts import local_part, precise
from torchwhy.record.numbers import Real


class Counted(NamedTuple):
    """Counts of a tensor's values; the range covers the finite ones, and is NaN if there are none."""

    nan: int
    positive_infinity: int
    negative_infinity: int
    zeros: int
    minimum: float
    maximum: float
    squares: float


class Units(NamedTuple):
    """A layer's output: units that are 0 for every sample, the share of zeros, and the share outside of a range."""

    dead: int
    zeros: float
    outside: float


def counted(tensor: torch.Tensor) -> Counted | None:
    """Return all counts at once; None if torch has to compute one after the other."""
    tensor = local_part(tensor)
    found = fast.measured(tensor) if fast is not None else None
    return None if found is None else Counted(*found)


def root_mean_square(tensor: torch.Tensor) -> float:
    """Return the root mean square of the elements."""
    tensor = local_part(tensor)
    known = counted(tensor) if tensor.numel() else None
    if known is not None:
        return math.sqrt(known.squares / tensor.numel())
    return float(precise(tensor.detach()).pow(2).mean().sqrt().item())


def weight_size(weight: torch.Tensor) -> Real:
    """Return the root mean square of a weight, as `Weights` events have it; 0 for one without values."""
    return root_mean_squares([weight])[0]


def spread(tensor: torch.Tensor) -> float:
    """Return the largest difference between a row and the first one, relative to the largest element."""
    tensor = local_part(tensor)
    known = fast.rows_apart(tensor) if fast is not None else None
    if known is None:
        values = precise(tensor.detach())
        rows = values.reshape(values.shape[0], -1)
        if not rows.numel():
            return 0.0
        known = ((rows - rows[:1]).abs().max().item(), rows.abs().max().item())
    apart, size = known
    return float(apart) / float(size) if size else 0.0


def rows_equal(weight: torch.Tensor, tolerance: float = 0.0) -> bool:
    """Tell whether a weight has several rows that are all equal, bit for bit or up to a share of its size."""
    values = local_part(weight).detach()
    if values.is_meta or values.is_sparse or values.dim() < 2 or values.shape[0] < 2:
        return False
    if not values.numel():
        return False
    if fast is not None and not tolerance:
        known = fast.same_rows(values)
        if known is not None:
            return bool(known)
    distances = fast.rows_apart(values) if fast is not None else None
    if distances is not None:
        return bool(distances[0] <= tolerance * distances[1])
    apart = (values - values[:1]).abs().max()
    return bool((apart <= tolerance * values.abs().max()).item())


def has_nonzero(values: torch.Tensor) -> bool:
    """Tell whether any element is not 0."""
    values = local_part(values)
    known = fast.has_nonzero(values) if fast is not None else None
    return bool((values != 0).any().item()) if known is None else bool(known)


def units(values: torch.Tensor, dimension: int, *, low: float, high: float) -> Units:
    """Measure the units along a dimension, and how many values are below `low` or above `high`."""
    known = fast.units_at_rest(values, dimension, low, high) if fast is not None else None
    if known is not None:
        dead, zeros, outside = known
        return Units(dead, zeros / values.numel(), outside / values.numel())
    per_unit = values.transpose(0, dimension).reshape(values.shape[dimension], -1)
    zero = per_unit == 0
    flat = (values < low) | (values > high)
    return Units(
        int(zero.all(dim=1).sum().item()),
        float(precise(zero).mean().item()),
        float(precise(flat).mean().item()),
    )
