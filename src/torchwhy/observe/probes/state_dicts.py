"""Weights that were to be kept and are only referred to: seen when a model is given back its own living tensors."""

from __future__ import annotations

import ast
import linecache
import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import FrameType
from typing import Any

import torch
from torch import nn

from torchwhy.observe.descriptors import NotedOnAccess
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.program.names import borrowed_locals
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.tensor_parts import storage_key
from torchwhy.record.events import Event
from torchwhy.record.wiring import AliasLoaded
from torchwhy.source.files import layer_of

MOST_PLACES = 16  # lines that take a model's weights; a program has one or two

Places = dict[Site, tuple[int, int]]  # the steps at which it ran for the first time and last


class StateDicts:
    """Remembers where a model's weights were taken; looks at what is loaded back."""

    def __init__(self, write: Callable[[Event], None], step: Callable[[], int]) -> None:
        self._write = write
        self._step = step
        self._taken: weakref.WeakKeyDictionary[nn.Module, Places] = weakref.WeakKeyDictionary()

    def install(self, hooks: Hooks, protect: Callable[[str, Any], Any]) -> None:
        """Notice `state_dict()` and `load_state_dict()` of modules."""
        for method, function in (("state_dict", self._take), ("load_state_dict", self._load)):
            note = protect("weights probe", function)

            def noted(model: Any, note: Any = note) -> None:
                frame = frame_at(2)
                if layer_of(frame.f_code.co_filename) != "torch":
                    note(model, frame)

            hooks.replace(nn.Module, method, NotedOnAccess(getattr(nn.Module, method), noted))

    def _take(self, model: nn.Module, frame: FrameType) -> None:
        places = self._taken.setdefault(model, {})
        site, now = Site(frame.f_code, frame.f_lasti), self._step()
        if site in places or len(places) < MOST_PLACES:
            places[site] = (places.get(site, (now, now))[0], now)

    def _load(self, model: nn.Module, frame: FrameType) -> None:
        places = self._taken.get(model)
        call = _call_at(frame, "load_state_dict")
        if not places or call is None or any(keyword.arg == "assign" for keyword in call.keywords):
            return
        own = {storage_key(tensor) for tensor in (*model.parameters(), *model.buffers())} - {None}
        for name, value in _values_named_in(call, frame):
            shared = sum(storage_key(item) in own for item in _tensors_of(value))
            if not shared:
                continue
            taken = _place_of(name, places)
            # Weights taken this very step may go into others that are computed from them; loaded as they are, they
            # do nothing, and were meant to be those of an earlier step.
            whole = any(ast.unparse(argument) == name for argument in call.args)
            since = places[taken][0 if whole else 1]
            if since < self._step():
                self._write(
                    AliasLoaded(
                        step=self._step(),
                        name=name,
                        tensors=shared,
                        taken_step=since,
                        location=span_of(Site(frame.f_code, frame.f_lasti)),
                        taken_at=span_of(taken),
                    )
                )
            return


def _place_of(name: str, places: Places) -> Site:
    """Return the place whose line assigns to the variable; the last one if none does."""
    for site in places:
        line = linecache.getline(site.code.co_filename, span_of(site).line)
        if name.rpartition(".")[2].partition("[")[0] in line.partition("=")[0]:
            return site
    return list(places)[-1]


def _tensors_of(value: Any) -> list[torch.Tensor]:
    if not isinstance(value, dict):
        return []
    return [item for item in value.values() if isinstance(item, torch.Tensor) and item.numel()]


@lru_cache(maxsize=8)
def _calls_in(filename: str) -> list[ast.Call]:
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _call_at(frame: FrameType, method: str) -> ast.Call | None:
    """Return the call of a method at a frame's line."""
    for call in _calls_in(frame.f_code.co_filename):
        is_method = isinstance(call.func, ast.Attribute) and call.func.attr == method
        if is_method and call.lineno <= frame.f_lineno <= (call.end_lineno or call.lineno):
            return call
    return None


def _values_named_in(call: ast.Call, frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Yield the variables in a call's arguments with their values, the most exact expression first; runs no code."""
    variables = {**frame.f_globals, **borrowed_locals(frame)}
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        for node in ast.walk(argument):
            if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
                value = _value_of(node, variables)
                if value is not None:
                    yield ast.unparse(node), value


def _value_of(node: ast.expr, variables: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return variables.get(node.id)
    if isinstance(node, ast.Attribute):
        holder = _value_of(node.value, variables)
        attributes = getattr(holder, "__dict__", None) if holder is not None else None
        return attributes.get(node.attr) if isinstance(attributes, dict) else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        holder = _value_of(node.value, variables)
        return holder.get(node.slice.value) if type(holder) is dict else None
    return None
