"""Describes the modules that were running at the exception: their sizes, and where they were made."""

from __future__ import annotations

from typing import Any

from torch import nn

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.names import Names
from torchwhy.observe.torch_features.module_parts import parts_in
from torchwhy.record.events import Layer
from torchwhy.record.numbers import Real, encode
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame

MOST_SETTINGS = 24


def running_modules(frames: list[TracebackFrame]) -> list[nn.Module]:
    """Return the modules whose methods are in the traceback, each once, outermost first."""
    found: list[nn.Module] = []
    for frame in frames:
        names = frame.code.co_varnames
        owner = frame.variables.get(names[0]) if frame.code.co_argcount and names else None
        if isinstance(owner, nn.Module) and all(owner is not known for known in found):
            found.append(owner)
    return found


def describe(module: nn.Module, names: Names, made_at: SourceSpan | None = None) -> Layer:
    """Describe a module for the record."""
    kind = type(module).__name__
    return Layer(
        path=names.path_of(module),
        kind=kind,
        text=f"{kind}({_own_words(module)})",
        settings=settings_of(module),
        made_at=made_at,
    )


def _own_words(module: nn.Module) -> str:
    """Return a torch module's own short description; a user's `extra_repr` is not called."""
    if not type(module).__module__.startswith("torch."):
        return "…" if list(parts_in(module)) else ""
    return module.extra_repr()


def settings_of(module: nn.Module) -> dict[str, Real | bool | str | list[int] | None]:
    """Return the plain numbers a module was made with: `in_features`, `kernel_size` …"""
    found: dict[str, Any] = {}
    for name, value in vars(module).items():
        if name.startswith("_") or len(found) >= MOST_SETTINGS:
            continue
        if isinstance(value, (bool, str)) or value is None:
            found[name] = value
        elif isinstance(value, (int, float)):
            found[name] = encode(float(value))
        elif (
            isinstance(value, (tuple, list)) and value and all(type(item) is int for item in value)
        ):
            found[name] = list(value)
    return found
