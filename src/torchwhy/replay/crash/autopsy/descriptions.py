"""Describes live values of the program for the record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import nn

from torchwhy.record.events import NamedTensor
from torchwhy.record.numbers import Real, encode

MOST_TENSORS = 40  # variables of one frame
MOST_NUMBERS = 30
LONGEST_TEXT = 80
LABELS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
MOST_ELEMENTS = 10_000_000  # of an integer tensor whose range is measured


def is_array(value: Any) -> bool:
    """Tell whether this is a NumPy array, without importing NumPy."""
    return type(value).__module__ == "numpy" and type(value).__name__ == "ndarray"


def is_tensor(value: Any) -> bool:
    """Tell whether this can be described as a tensor."""
    return isinstance(value, torch.Tensor) or is_array(value)


def named(name: str, value: Any, **more: Any) -> NamedTensor:
    """Return a tensor or array by its name in the program."""
    if not isinstance(value, torch.Tensor):
        return NamedTensor(
            name=name, shape=list(value.shape), dtype=str(value.dtype), kind="array", **more
        )
    minimum, maximum = _range(value)
    kind: Literal["tensor", "parameter"] = (
        "parameter" if isinstance(value, nn.Parameter) else "tensor"
    )
    return NamedTensor(
        name=name,
        shape=list(value.shape),
        dtype=str(value.dtype).removeprefix("torch."),
        device=str(value.device),
        kind=kind,
        requires_grad=value.requires_grad,
        graph=value.grad_fn.name() if value.grad_fn is not None else None,
        minimum=minimum,
        maximum=maximum,
        **more,
    )


def _range(value: torch.Tensor) -> tuple[float | None, float | None]:
    if (
        value.dtype not in LABELS
        or not 0 < value.numel() <= MOST_ELEMENTS
        or value.device.type == "meta"
    ):
        return None, None
    try:
        lowest, highest = torch.aminmax(value.detach())
        return float(lowest.item()), float(highest.item())
    except RuntimeError:  # a failed device computes nothing any more
        return None, None


def tensors_among(variables: Mapping[str, Any]) -> list[NamedTensor]:
    """Return the variables that are tensors or arrays, also those inside plain tuples, lists and dicts."""
    found: list[NamedTensor] = []
    for name, value in list(variables.items()):
        if name.startswith("__") or len(found) >= MOST_TENSORS:
            continue
        if is_tensor(value):
            found.append(named(name, value))
        elif type(value) in (tuple, list):
            found += [
                named(f"{name}[{i}]", item) for i, item in enumerate(value[:4]) if is_tensor(item)
            ]
        elif type(value) is dict:
            found += [
                named(f"{name}[{k!r}]", item)
                for k, item in list(value.items())[:8]
                if is_tensor(item)
            ]
    return found


def numbers_among(variables: Mapping[str, Any]) -> dict[str, Real | bool | str]:
    """Return the variables that are plain numbers or short texts."""
    found: dict[str, Real | bool | str] = {}
    for name, value in list(variables.items()):
        if name.startswith("_") or len(found) >= MOST_NUMBERS:
            continue
        if type(value) is bool:
            found[name] = value
        elif type(value) in (int, float):
            found[name] = encode(float(value))
        elif type(value) is str and len(value) <= LONGEST_TEXT:
            found[name] = value
    return found
