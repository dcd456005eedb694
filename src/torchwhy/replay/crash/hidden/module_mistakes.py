"""Finds a model that hides its layers in a plain list, or whose forward returns nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn

from torchwhy.finding import SourceSpan
from torchwhy.observe.torch_features.module_parts import is_initialised
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts, user_frames
from torchwhy.replay.crash.hidden.state_holders import modules_in
from torchwhy.source.bindings import bindings
from torchwhy.source.files import layer_of, scope_of, span_in
from torchwhy.source.scopes import Function, gives_back

MOST_ITEMS = 64  # of a list or dictionary of layers


def note_hidden_layers(frames: list[TracebackFrame], hidden: HiddenFacts) -> None:
    """Name the plain list or dictionary in which a model without any parameter keeps its layers."""
    for name, module in _users_modules(frames):
        held = vars(module).items() if next(module.parameters(), None) is None else ()
        for attribute, value in held:
            kinds = {type(item).__name__ for item in _items(value)}
            place = _where_given(type(module), f"self.{attribute}")
            if kinds and place is not None:
                hidden.facts.update(
                    hidden_in=f"{name}.{attribute}", hidden=", ".join(sorted(kinds))
                )
                hidden.places["hidden"] = place
                return


def note_silent_forward(frames: list[TracebackFrame], hidden: HiddenFacts) -> None:
    """Name the model whose forward returns nothing, and the last line of it."""
    for name, module in _users_modules(frames):
        code = getattr(type(module).forward, "__code__", None)
        scope = scope_of(code) if code is not None else None
        if code is not None and isinstance(scope, Function) and not gives_back(scope):
            hidden.facts["returns_nothing"] = name
            hidden.places["forward"] = span_in(code, scope.body[-1])
            return


def _users_modules(frames: list[TracebackFrame]) -> Iterator[tuple[str, nn.Module]]:
    """Yield the modules of the program's own classes that its frames have names for."""
    seen: set[int] = set()
    for frame in user_frames(frames):
        for name, module in modules_in(frame):
            code = getattr(type(module).forward, "__code__", None)
            if id(module) not in seen and code is not None:
                seen.add(id(module))
                if layer_of(code.co_filename) == "user" and is_initialised(module):
                    yield name, module


def _items(value: Any) -> list[nn.Module | nn.Parameter]:
    if type(value) not in (list, tuple, dict):
        return []
    items = list(value.values()) if isinstance(value, dict) else list(value)
    return [item for item in items[:MOST_ITEMS] if isinstance(item, (nn.Module, nn.Parameter))]


def _where_given(kind: type, name: str) -> SourceSpan | None:
    """Return the expression that a method of a class assigns to an attribute."""
    for method in kind.__dict__.values():
        code = getattr(method, "__code__", None)
        scope = scope_of(code) if code is not None else None
        made = bindings(scope, name) if scope is not None else []
        if code is not None and made and made[0][1] is not None:
            return span_in(code, made[0][1])
    return None
