"""Measures the size of every weight and gradient of an optimizer, on sampled steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from torchwhy.observe.native.records import fast
from torchwhy.observe.steps.gradients import read_together
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import item, local_part, norms_of, precise
from torchwhy.record.numbers import Real, encode

MOST_TENSORS = 64  # tensors per event; of a larger model, evenly chosen


def chosen(parameters: Sequence[Any]) -> list[int]:
    """Return the positions of the parameters to record: all that have elements here, or an even choice of them.

    Of a sharded model, this rank may hold nothing of a small parameter.
    """
    here = [place for place, one in enumerate(parameters) if local_part(one).numel()]
    if len(here) <= MOST_TENSORS:
        return here
    return [here[place * len(here) // MOST_TENSORS] for place in range(MOST_TENSORS)]


@unseen
def root_mean_squares(tensors: Sequence[torch.Tensor | None]) -> list[Real]:
    """Return the root mean square of each tensor, in one pass and one read-back; 0 for a missing one."""
    if fast is not None:
        known = [_measured(t) for t in tensors]
        if None not in known:
            return [value for value in known if value is not None]
    return from_norms(tensors, read_together(norms_in(tensors)))


def norms_in(tensors: Sequence[torch.Tensor | None]) -> Sequence[torch.Tensor]:
    """Return the norms of those tensors that have values, still on their device."""
    present = [t for t in map(_present, tensors) if t is not None]
    return norms_of(present) if present else []


def from_norms(tensors: Sequence[torch.Tensor | None], norms: Sequence[float]) -> list[Real]:
    """Return the root mean square of each tensor, given the numbers that `norms_in` has on the device."""
    remaining, sizes = iter(norms), []
    for tensor in map(_present, tensors):
        if tensor is None:
            sizes.append(encode(0.0))
            continue
        norm = next(remaining)
        if not math.isfinite(norm):
            # The square of 1e20 overflows float32, and a wrong rate leads to weights that large.
            norm = float(item(precise(tensor.cpu()).norm()))
        sizes.append(encode(norm / math.sqrt(tensor.numel())))
    return sizes


def _measured(tensor: torch.Tensor | None) -> Real | None:
    """Return the root mean square of a plain tensor on the CPU by the accelerator; None if torch has to do it."""
    tensor = None if tensor is None else local_part(tensor)
    if tensor is None or not tensor.numel():
        return 0.0
    found = fast.measured(tensor)
    return None if found is None else encode(math.sqrt(found[-1] / tensor.numel()))


def _present(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """Return this rank's part of a tensor, None if it has no values."""
    tensor = None if tensor is None else local_part(tensor).detach()
    is_there = tensor is not None and not tensor.is_sparse and not tensor.is_meta
    return tensor if tensor is not None and is_there and tensor.numel() > 0 else None
