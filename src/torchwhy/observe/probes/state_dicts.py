"""Finds saved weights that are references to the live ones: a model loads its own live tensors."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import torch
from torch import nn

from torchwhy.observe.descriptors import NotedOnAccess
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.program.names import borrowed_locals
from torchwhy.observe.program.weak_table import WeakTable
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.tensor_parts import storage_key
from torchwhy.record.events import Event
from torchwhy.record.wiring import AliasLoaded, KeptLoaded, LookedAt
from torchwhy.source.calls import Call, keyword
from torchwhy.source.files import layer_of, loaded
from torchwhy.source.scopes import covers
from torchwhy.source.values import look_up, references_in, text_of

MOST_PLACES = 16  # lines that read a model's weights; a program has one or two

Places = dict[Site, tuple[int, int]]  # the first and the last step at which it ran


class StateDicts:
    """Remembers where a model's weights were read, and compares what is loaded."""

    def __init__(
        self,
        write: Callable[[Event], None],
        step: Callable[[], int],
        *,
        handed_out: Callable[[nn.Module], object],
    ) -> None:
        self._write = write
        self._step = step
        self._handed_out = handed_out
        self._taken = WeakTable[Places]()
        self._compared = 0

    def install(self, hooks: Hooks, protect: Callable[[str, Any], Any]) -> None:
        """Notice `state_dict()` and `load_state_dict()` of modules."""
        for method, function in (("state_dict", self._take), ("load_state_dict", self._load)):
            note = protect("weights probe", function)

            def noted(model: Any, note: Any = note) -> None:
                frame = frame_at(2)
                if layer_of(frame.f_code.co_filename) != "torch":
                    note(model, frame)

            hooks.replace(nn.Module, method, NotedOnAccess(getattr(nn.Module, method), noted))

    def tell(self) -> None:
        """Write how many loads were compared."""
        if self._compared and self._step():
            self._write(LookedAt(what="loaded weights", times=self._compared))

    def _take(self, model: nn.Module, frame: FrameType) -> None:
        places = self._taken.get(model)
        if places is None:
            places = self._taken[model] = {}
        site, now = Site(frame.f_code, frame.f_lasti), self._step()
        if site in places or len(places) < MOST_PLACES:
            places[site] = (places.get(site, (now, now))[0], now)
            self._handed_out(model)

    def _load(self, model: nn.Module, frame: FrameType) -> None:
        places = self._taken.get(model)
        call = _call_at(frame, "load_state_dict")
        if not places or call is None or keyword(call, "assign") is not None:
            return
        self._compared += 1
        own = {storage_key(tensor) for tensor in (*model.parameters(), *model.buffers())} - {None}
        self._tell_when(places, frame)
        for name, value in _values_named_in(call, frame):
            shared = sum(storage_key(item) in own for item in _tensors_of(value))
            if not shared:
                continue
            taken = _place_of(name, places)
            # Weights taken this very step may go into others that are computed from them; loaded as they are, they
            # do nothing, and were meant to be those of an earlier step.
            whole = any(text_of(argument) == name for argument in call.args)
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

    def _tell_when(self, places: Places, frame: FrameType) -> None:
        """Write when the program took the weights that it loads, if one line takes them all."""
        ((site, (_, last)), *others) = places.items()
        if not others and last < self._step():
            self._write(
                KeptLoaded(
                    step=self._step(),
                    taken_step=last,
                    location=span_of(Site(frame.f_code, frame.f_lasti)),
                    taken_at=span_of(site),
                )
            )


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


def _call_at(frame: FrameType, method: str) -> Call | None:
    """Return the call of a method at a frame's line."""
    source = loaded(frame.f_code.co_filename)
    calls = source.calls(method) if source is not None else ()
    return next((call for call in calls if covers(call, frame.f_lineno)), None)


def _values_named_in(call: Call, frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Yield the variables in a call's arguments with their values, the most exact expression first; runs no code."""
    variables = {**frame.f_globals, **borrowed_locals(frame)}
    for given in (*call.args, *(one.value for one in call.keywords)):
        for node in references_in(given):
            value = look_up(node, variables, items=True)
            if value is not None:
                yield text_of(node), value
