"""Finds tensors that should be trained although they are no nn.Parameter: `torch.zeros(2, requires_grad=True)`.

Searches variables, attributes of `self`, and lists and dictionaries in them. Tensors that a model takes are data, or
coordinates to differentiate by, and do not count; nor does anything in a program that calls `torch.autograd.grad`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch import nn

from torchwhy.observe.program.names import borrowed_locals
from torchwhy.observe.program.user_modules import user_sources
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.tensor_parts import gradient_of
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.source.files import layer_of

MOST_ITEMS = 50  # of a list or dictionary
MOST_FRAMES = 12
ADDING = {"add", "add_", "sub", "sub_", "rsub", "stack", "cat"}
DIFFERENTIATES = re.compile(r"autograd\.grad\b|\bgrad\(|torch\.func\b|functorch")


def loose_leaves(microscope: Microscope, held: set[int]) -> dict[str, torch.Tensor]:
    """Return leaves by name that got a gradient, are in no optimizer, and are used outside of all modules."""
    found = {
        name: leaf
        for name, leaf in _in_frames(frame_at(1))
        if id(leaf) not in held and gradient_of(leaf) is not None
    }
    if not found or any(DIFFERENTIATES.search(source.text) for source in user_sources()):
        return {}
    return {name: leaf for name, leaf in found.items() if _is_beside_models(microscope, leaf)}


def _is_beside_models(microscope: Microscope, leaf: torch.Tensor) -> bool:
    """Tell whether a leaf stays outside of modules and weighs their outputs, such as losses or bounds.

    A term that is only added, such as a prior, changes no other gradient.
    """
    entry = microscope.memory_writers.entry(leaf)
    made = entry.last_operation if entry is not None else None
    if made is None:
        return False
    alive, weighs = {made.order}, False
    given: set[int] = set()  # outputs of modules, and what was computed of them
    for operation in microscope.forward_operations():
        if operation.order == made.order:
            continue
        orders = {source.order for source in operation.inputs if source is not None}
        if orders & alive:
            if operation.module is not None:
                return False
            meets = bool(orders & given) and bool(orders & (alive - given))
            weighs |= meets and operation.info.base not in ADDING
            alive.add(operation.order)
        if operation.module is not None or orders & given:
            given.add(operation.order)
    return weighs


def _in_frames(frame: Any) -> Iterator[tuple[str, torch.Tensor]]:
    seen: set[int] = set()
    for _ in range(MOST_FRAMES * 8):
        if frame is None:
            return
        if layer_of(frame.f_code.co_filename) == "user":
            for name, value in borrowed_locals(frame).items():
                yield from _in_value(name, value)
                if name == "self" and not isinstance(value, nn.Module | torch.Tensor):
                    for attribute, held in list(getattr(value, "__dict__", {}).items()):
                        yield from _in_value(f"self.{attribute}", held)
            if id(frame.f_globals) not in seen and frame.f_code.co_name != "<module>":
                seen.add(id(frame.f_globals))
                for name, value in list(frame.f_globals.items()):
                    yield from _in_value(name, value)
        frame = frame.f_back


def _in_value(name: str, value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    if type(value) is torch.Tensor:
        if value.is_leaf and value.requires_grad:
            yield name, value
    elif type(value) in (list, tuple, dict):
        items = value.items() if type(value) is dict else enumerate(value)
        for key, item in islice(items, MOST_ITEMS):
            if type(item) is torch.Tensor and item.is_leaf and item.requires_grad:
                yield f"{name}[{key!r}]", item
