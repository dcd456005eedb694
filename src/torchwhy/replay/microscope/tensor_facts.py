"""Describes a tensor in numbers: range, bad elements, and its value where another tensor went bad."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import torch

from torchwhy.observe.torch_features.tensor_parts import has_values, local_part, precise
from torchwhy.record.events import TensorFacts
from torchwhy.record.numbers import Real, encode
from torchwhy.replay.microscope.measures import counted

BINS = 24  # of a histogram
MOST_BINNED = 65_536  # about; of a larger tensor every n-th value is counted


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """Return the values as a dense real tensor without graph."""
    tensor = local_part(tensor).detach()
    if tensor.is_sparse:
        tensor = tensor.coalesce().values()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor


def bad_elements(tensor: torch.Tensor) -> torch.Tensor:
    """Return a mask of the elements that are not finite, in the tensor's own shape."""
    return ~torch.isfinite(local_part(tensor).detach())


def first_index(mask: torch.Tensor) -> list[int] | None:
    """Return the index of the first true element in memory order."""
    if mask.dim() == 0:
        return [] if bool(mask.item()) else None
    flat = mask.reshape(-1)
    position = int(flat.to(torch.uint8).argmax().item())
    if not bool(flat[position].item()):
        return None
    index = []
    for size in reversed(mask.shape):
        index.append(position % size)
        position //= size
    return index[::-1]


def facts_of(tensor: torch.Tensor) -> TensorFacts:
    """Return the numbers that describe a tensor."""
    values = plain(tensor)
    common: dict[str, Any] = {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        "device": tensor.device.type,
    }
    if values.numel() == 0 or not has_values(values):
        return TensorFacts(**common)
    if not values.is_floating_point():
        number = values.long() if values.dtype is torch.bool else values
        return TensorFacts(
            **common,
            minimum=float(number.min().item()),
            maximum=float(number.max().item()),
            zeros=int((number == 0).sum().item()),
        )
    known = counted(values)
    if known is not None:
        bad = known.nan + known.positive_infinity + known.negative_infinity
        return TensorFacts(
            **common,
            minimum=known.minimum if bad < values.numel() else None,
            maximum=known.maximum if bad < values.numel() else None,
            nan=known.nan,
            positive_infinity=known.positive_infinity,
            negative_infinity=known.negative_infinity,
            zeros=known.zeros,
            first_bad_index=first_index(~torch.isfinite(values)) if bad else None,
        )
    finite = torch.isfinite(values)
    good = values[finite]
    return TensorFacts(
        **common,
        minimum=float(good.min().item()) if good.numel() else None,
        maximum=float(good.max().item()) if good.numel() else None,
        nan=int(torch.isnan(values).sum().item()),
        positive_infinity=int(torch.isposinf(values).sum().item()),
        negative_infinity=int(torch.isneginf(values).sum().item()),
        zeros=int((values == 0).sum().item()),
        first_bad_index=None if bool(finite.all().item()) else first_index(~finite),
    )


def facts_of_labels(tensor: torch.Tensor) -> TensorFacts:
    """Return the numbers that describe labels, with the stretches of zeros among them."""
    facts = facts_of(tensor)
    if tensor.is_floating_point() or facts.maximum is None:
        return facts
    labels = plain(tensor).reshape(-1)
    own = int((labels == torch.arange(len(labels), device=labels.device)).sum().item())
    is_zero = torch.cat([labels == 0, torch.zeros_like(labels[:1], dtype=torch.bool)])
    ends = ((is_zero[:-1] & ~is_zero[1:]).nonzero().reshape(-1) + 1).tolist()
    return msgspec.structs.replace(
        facts, zero_runs=len(ends), zero_ends=math.gcd(*ends), own_rows=own
    )


def bins_of(tensor: torch.Tensor, facts: TensorFacts) -> list[int]:
    """Return how many finite values lie in each of `BINS` equal steps from the minimum to the maximum.

    Of a large tensor some values are counted, evenly spread. Empty if all values are equal or none is finite.
    """
    low, high = facts.minimum, facts.maximum
    if low is None or high is None or not 0 < high - low < math.inf or tensor.dtype is torch.bool:
        return []
    values = plain(tensor).reshape(-1)
    some = precise(values[:: 1 + values.numel() // MOST_BINNED])
    some = some[torch.isfinite(some)]
    places = ((some - low) / (high - low) * BINS).long().clamp_(0, BINS - 1)
    return [int(count) for count in torch.bincount(places, minlength=BINS).tolist()]


def at_born(tensor: torch.Tensor, mask: torch.Tensor) -> tuple[Real, Real, Real] | None:
    """Return a tensor's value at the first bad element of a result, and its range over all of them.

    None when it does not broadcast to the result, as in a reduction or a matrix product.
    """
    values = plain(tensor)
    if values.dtype is torch.bool:
        values = values.long()
    try:
        spread = values.expand(mask.shape)
    except RuntimeError:
        return None
    chosen = spread[mask]
    if chosen.numel() == 0:
        return None
    index = first_index(mask)
    first = spread[tuple(index)].item() if index is not None else chosen[0].item()
    return (
        encode(float(first)),
        encode(float(chosen.min().item())),
        encode(float(chosen.max().item())),
    )


def value_of(tensor: torch.Tensor, mask: torch.Tensor) -> float:
    """Return the first bad value itself."""
    index = first_index(mask)
    value = plain(tensor)[tuple(index or [])]
    return float(value.reshape(-1)[0].item())


def bad_rows(mask: torch.Tensor, rows: int, *, most: int = 8) -> list[int]:
    """Return the batch positions with a bad element, when the first dimension is the batch (or folds it)."""
    if rows <= 0 or mask.dim() == 0 or mask.shape[0] % rows or mask.shape[0] < rows:
        return []
    fold = mask.shape[0] // rows
    per_row = mask.reshape(mask.shape[0], -1).any(dim=1)
    positions = per_row.nonzero().reshape(-1)[: most * fold].tolist()
    return sorted({int(position) // fold for position in positions})[:most]
