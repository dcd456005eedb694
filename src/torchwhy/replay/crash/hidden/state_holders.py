"""Finds the objects in which a program keeps values between iterations: modules, and instances of its own classes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from torchwhy.observe.torch_features.module_parts import stored_buffers
from torchwhy.plain_data import dataclass
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.source.files import layer_of


@dataclass(frozen=True, eq=False)
class Holder:
    """One object, by the name the program has for it: `net.memory`, `self`."""

    path: str
    value: Any


def attributes_in(users: list[TracebackFrame]) -> Iterator[tuple[Holder, str, Any]]:
    """Yield every attribute of the objects that the user's frames have names for, each object once."""
    seen: set[int] = set()
    for frame in users:
        for holder in _holders_in(frame):
            if id(holder.value) in seen:
                continue
            seen.add(id(holder.value))
            held = vars(holder.value)
            buffers = stored_buffers(holder.value) if isinstance(holder.value, nn.Module) else {}
            for name, value in [*held.items(), *buffers.items()]:
                if not name.startswith("_"):
                    yield holder, name, value


def _holders_in(frame: TracebackFrame) -> Iterator[Holder]:
    for variable, module in modules_in(frame):
        for path, part in module.named_modules():
            yield Holder(".".join(filter(None, (variable, path))), part)
    for variable, value in frame.variables.items():
        if not isinstance(value, (nn.Module, torch.Tensor, type)) and _is_users(value):
            yield Holder(variable, value)


def _is_users(value: Any) -> bool:
    """Tell whether an object is of a class that the program itself defines, and has attributes."""
    module = sys.modules.get(type(value).__module__)
    file = getattr(module, "__file__", None)
    return hasattr(value, "__dict__") and isinstance(file, str) and layer_of(file) == "user"


def modules_in(frame: TracebackFrame) -> Iterator[tuple[str, nn.Module]]:
    """Yield the modules that a frame has a name for, also as attributes of its `self`."""
    owner = frame.variables.get("self")
    held = vars(owner) if hasattr(owner, "__dict__") and not isinstance(owner, nn.Module) else {}
    for variable, value in [*frame.variables.items(), *frame.globals.items(), *held.items()]:
        if isinstance(value, nn.Module):
            yield variable, value
