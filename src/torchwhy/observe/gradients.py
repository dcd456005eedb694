"""Are all gradients finite? A finite sum proves it; a non-finite sum is looked at again, exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from torchwhy.observe.torch_compat import has_values, unseen

HALF = (torch.float16, torch.bfloat16)
SUMMABLE = (*HALF, torch.float32, torch.float64, torch.complex64, torch.complex128)


def dense(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return the plain tensor that holds the values: of a sparse one its values, of a sharded one its local part."""
    if not has_values(tensor):
        return None
    if tensor.is_sparse:
        return tensor._values()
    to_local = getattr(tensor, "to_local", None)
    if to_local is not None:
        tensor = to_local()
    if tensor.layout is not torch.strided or tensor.dtype not in SUMMABLE:
        return None
    return tensor


@unseen
def sums_of(tensors: Iterable[torch.Tensor | None]) -> list[torch.Tensor]:
    """Return the sum of each tensor as a 0-dim tensor on its own device, wide enough not to overflow in half."""
    sums = []
    for tensor in tensors:
        plain = None if tensor is None else dense(tensor)
        if plain is not None:
            sums.append(plain.sum(dtype=torch.float32) if plain.dtype in HALF else plain.sum())
    return sums


def quickly_finite(tensors: Sequence[torch.Tensor | None]) -> bool:
    """Tell whether plain gradients on the CPU are finite; False also means "look properly".

    It leaves out every question but the sum itself: what has no sum, or an odd one, is for the careful way.
    """
    try:
        for tensor in tensors:
            if tensor is not None and not math.isfinite(tensor.sum().item()):
                return False
    except (RuntimeError, TypeError, NotImplementedError, OverflowError):
        return False
    return True


@unseen
def all_finite(sums: Sequence[torch.Tensor]) -> bool:
    """Tell whether all sums are finite, with one read-back for a device that is not the CPU."""
    if not sums:
        return True
    if sums[0].device.type == "cpu":
        return all(_finite_number(value.item()) for value in sums)
    return bool(torch.isfinite(torch.stack([value.float() for value in sums])).all().item())


@unseen
def is_finite(tensor: torch.Tensor) -> bool:
    """Tell exactly whether every element is finite, reading twice only when the sum leaves a doubt."""
    plain = dense(tensor.detach())
    if plain is None or plain.numel() == 0:
        return True
    if all_finite(sums_of([plain])):
        return True
    return bool(torch.isfinite(plain).all().item())


@unseen
def fingerprint(tensors: Iterable[torch.Tensor | None]) -> list[str]:
    """Return what two equal computations share: every sum, bit for bit, NaN included, and where it is bad."""
    prints = []
    for tensor in tensors:
        plain = None if tensor is None else dense(tensor.detach())
        if plain is None:
            prints.append("-")
            continue
        good = torch.isfinite(plain)
        total = torch.where(good, plain, torch.zeros_like(plain)).sum().item()
        prints.append(f"{total!r}/{int(good.sum().item())}")
    return prints


def _finite_number(value: Any) -> bool:
    if isinstance(value, complex):
        return math.isfinite(value.real) and math.isfinite(value.imag)
    return math.isfinite(value)
