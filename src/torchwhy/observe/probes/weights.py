"""Measures the size of every weight and gradient of an optimizer, on sampled steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from torchwhy.observe.native.records import fast
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import local_part, norms_of
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
    tensors = [tensor if tensor is None else local_part(tensor) for tensor in tensors]
    if fast is not None:
        known = [_measured(t) for t in tensors]
        if None not in known:
            return [value for value in known if value is not None]
    present = [t.detach() for t in tensors if t is not None and _has_values(t)]
    if not present:
        return [0.0] * len(tensors)
    norms = torch.stack([norm.double().cpu() for norm in norms_of(present)]).tolist()
    # The square of 1e20 overflows float32, and a wrong rate leads to weights that large.
    values = (
        n if math.isfinite(n) else float(t.double().norm())
        for n, t in zip(norms, present, strict=True)
    )
    return [
        encode(next(values) / math.sqrt(t.numel())) if t is not None and _has_values(t) else 0.0
        for t in tensors
    ]


def _measured(tensor: torch.Tensor | None) -> Real | None:
    """Return the root mean square of a plain tensor on the CPU by the accelerator; None if torch has to do it."""
    if tensor is None or not tensor.numel():
        return 0.0
    found = fast.measured(tensor)
    return None if found is None else encode(math.sqrt(found[-1] / tensor.numel()))


def _has_values(tensor: torch.Tensor) -> bool:
    return not tensor.is_sparse and not tensor.is_meta and tensor.numel() > 0
