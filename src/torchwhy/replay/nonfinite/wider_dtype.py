"""Redoes an operation in a wider dtype: did the numbers not fit, or is the result undefined?"""

from __future__ import annotations

from typing import Any, Literal

import torch

from torchwhy.observe.torch_features.torch_internals import overload_name, schema_of

WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.float32: torch.float64}
MOST_ELEMENTS = 50_000_000  # beyond, redoing one operation takes noticeable time


def redo_wider(
    call: tuple[Any, Any, Any], output: torch.Tensor
) -> Literal["finite", "nonfinite"] | None:
    """Return whether the operation gives finite numbers in the next wider dtype; None if it cannot be redone."""
    function, args, kwargs = call
    wider = WIDER.get(output.dtype)
    if (
        wider is None
        or output.numel() > MOST_ELEMENTS
        or torch.Tag.nondeterministic_seeded in function.tags
    ):
        return None
    functional = functional_of(function)
    if functional is None:
        return None
    try:
        with torch.no_grad():
            result = functional(*_widened(args, wider), **_widened_keywords(kwargs, wider))
    except Exception:  # not every operation has a wide version; then we do not know
        return None
    results = result if isinstance(result, (list, tuple)) else [result]
    values = [r for r in results if isinstance(r, torch.Tensor) and r.shape == output.shape]
    if not values:
        return None
    return "finite" if bool(torch.isfinite(values[0]).all().item()) else "nonfinite"


def functional_of(function: Any) -> Any:
    """Return the overload that does not write into its arguments: `mul` for `mul_`."""
    schema = schema_of(function)
    if not schema.is_mutable:
        return function
    packet = getattr(torch.ops.aten, schema.name.rpartition("::")[2].rstrip("_"), None)
    overload = getattr(packet, overload_name(function), None) if packet is not None else None
    return overload if overload is not None and not schema_of(overload).is_mutable else None


def _widened(values: Any, dtype: torch.dtype) -> list[Any]:
    return [_wide(value, dtype) for value in values]


def _widened_keywords(values: dict[str, Any], dtype: torch.dtype) -> dict[str, Any]:
    return {name: _wide(value, dtype) for name, value in values.items()}


def _wide(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to(dtype) if value.is_floating_point() else value
    if isinstance(value, torch.dtype):
        return dtype if value.is_floating_point else value
    if isinstance(value, (list, tuple)):
        return [_wide(item, dtype) for item in value]
    return value
