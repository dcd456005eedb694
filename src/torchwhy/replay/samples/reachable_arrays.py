"""Finds the tensor or NumPy array of the program that a piece of memory is a part of, by looking at live variables."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import torch

from torchwhy.observe.program.names import borrowed_locals
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.replay.samples.operands import DataOperand, rows_within
from torchwhy.source.files import layer_of

MOST_FRAMES = 40
MOST_VALUES = 400  # variables of one frame, or attributes of one object


class Array(NamedTuple):
    """A tensor or array that the program can reach: its name there, and where it lies."""

    name: str
    address: int
    end: int
    size: int
    step: int


class Rows(NamedTuple):
    """Rows of an array of the program."""

    name: str
    indices: tuple[int, ...]


def rows_at(operand: DataOperand) -> Rows | None:
    """Return the rows of the largest array around an operand; None if it is all of them."""
    address = operand.address
    around = [array for array in reachable_arrays() if array.address <= address < array.end]
    if not around:
        return None
    array = max(around, key=lambda one: one.end - one.address)
    rows = rows_within(operand.unfolded(array.step), array)
    return Rows(array.name, rows) if rows is not None and len(rows) < array.size else None


def name_of_whole(address: int, size: int) -> str | None:
    """Return the name of an array that begins at an address and has `size` rows."""
    found = (one for one in reachable_arrays() if one.address == address and one.size == size)
    return next((array.name for array in found), None)


def reachable_arrays() -> Iterator[Array]:
    """Yield the tensors and arrays in variables of the program's live frames, their modules, and one level deeper."""
    for name, value in reachable_values():
        array = _array(name, value)
        if array is not None:
            yield array


def reachable_values() -> Iterator[tuple[str, Any]]:
    """Yield the values of variables of the program's live frames, their modules, and one level deeper, each once."""
    seen: set[int] = set()
    for name, value in _variables():
        for inner, found in _with_parts(name, value):
            if id(found) not in seen:
                seen.add(id(found))
                yield inner, found


def _variables() -> Iterator[tuple[str, Any]]:
    frame: FrameType | None = frame_at(1)
    modules: dict[int, Mapping[str, Any]] = {}
    frames = 0
    while frame is not None and frames < MOST_FRAMES:
        if layer_of(frame.f_code.co_filename) == "user":
            frames += 1
            modules[id(frame.f_globals)] = frame.f_globals
            if frame.f_code.co_name != "<module>":
                yield from _some(borrowed_locals(frame))
        frame = frame.f_back
    for variables in modules.values():
        yield from _some(variables)


def _some(variables: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [item for item in list(variables.items())[:MOST_VALUES] if not item[0].startswith("__")]


def _with_parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    yield name, value
    if isinstance(value, (type, ModuleType, torch.Tensor, torch.nn.Module, str, bytes)):
        return
    if isinstance(value, Mapping):
        items = list(value.items())[:MOST_VALUES]
        yield from ((f"{name}[{key!r}]", part) for key, part in items)
    elif isinstance(value, (list, tuple)):
        yield from ((f"{name}[{place}]", part) for place, part in enumerate(value[:16]))
    elif isinstance(getattr(value, "__dict__", None), dict):
        for attribute, part in _some(vars(value)):
            yield f"{name}.{attribute}", part
            if isinstance(part, (list, tuple)):
                parts = enumerate(part[:16])
                yield from ((f"{name}.{attribute}[{place}]", inner) for place, inner in parts)


def _array(name: str, value: Any) -> Array | None:
    numpy: Any = sys.modules.get("numpy")
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or not value.dim() or not value.numel():
            return None
        if value.requires_grad or value.is_meta:
            return None
        address, width = value.data_ptr(), value.element_size()
        strides: tuple[int, ...] = tuple(one * width for one in value.stride())
    elif numpy is not None and isinstance(value, numpy.ndarray) and value.ndim and value.size:
        address, width, strides = value.ctypes.data, value.itemsize, value.strides
    else:
        return None
    if any(stride < 0 for stride in strides):
        return None
    last = sum((size - 1) * stride for size, stride in zip(value.shape, strides, strict=True))
    return Array(name, address, address + last + width, value.shape[0], strides[0])
