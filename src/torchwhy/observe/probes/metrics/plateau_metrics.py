"""Follows the numbers that a program gives to `ReduceLROnPlateau.step`, as far as its variables hold them."""

from __future__ import annotations

import ast
import math
from types import FrameType
from typing import Any

import torch

from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.program.names import borrowed_locals
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import item
from torchwhy.record.wiring import PlateauMetrics
from torchwhy.source.files import loaded
from torchwhy.source.values import look_up, stored_attribute

KIND = "ReduceLROnPlateau"
MOST_VALUES = 400  # of one scheduler


class Metrics:
    """Keeps the numbers by scheduler, and the optimizer steps before each."""

    def __init__(self) -> None:
        self._arguments: dict[Site, ast.expr | None] = {}
        self._seen: dict[int, PlateauMetrics] = {}

    def note(self, index: int, scheduler: Any, frame: FrameType, *, step: int) -> None:
        """Note the number that the call at `frame` is about to pass."""
        if type(scheduler).__name__ != KIND:
            return
        site = Site(frame.f_code, frame.f_lasti)
        if site not in self._arguments:
            self._arguments[site] = _argument_at(site)
        argument = self._arguments[site]
        value = _value_in(frame, argument) if argument is not None else None
        if argument is None or value is None:
            return
        seen = self._seen.get(index)
        if seen is None:
            mode = str(vars(scheduler).get("mode"))
            seen = PlateauMetrics(
                index=index, mode=mode, metric=ast.unparse(argument), steps=[], values=[]
            )
            self._seen[index] = seen
        if len(seen.values) < MOST_VALUES:
            seen.steps.append(step)
            seen.values.append(value)

    def events(self) -> list[PlateauMetrics]:
        """Return what was seen of each scheduler."""
        return list(self._seen.values())


def _argument_at(site: Site) -> ast.expr | None:
    """Return the first argument of the call `….step(…)` at a place, if the place has one such call."""
    source = loaded(site.code.co_filename)
    line = span_of(site).line
    calls = [
        node
        for node in (ast.walk(source.tree) if source is not None else ())
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "step"
        and node.lineno <= line <= (node.end_lineno or line)
    ]
    given = [*calls[0].args, *(one.value for one in calls[0].keywords)] if len(calls) == 1 else []
    return given[0] if given else None


def _value_in(frame: FrameType, argument: ast.expr) -> float | None:
    names = {**frame.f_globals, **borrowed_locals(frame)}
    value = look_up(argument, names, attribute=stored_attribute, items=True)
    if isinstance(value, torch.Tensor):
        value = _number(value) if value.numel() == 1 and not value.is_complex() else None
    is_array = type(value).__module__ == "numpy" and getattr(value, "size", 0) == 1
    if isinstance(value, bool) or not (isinstance(value, (int, float)) or is_array):
        return None
    number = float(value)
    return number if math.isfinite(number) else None


@unseen
def _number(tensor: torch.Tensor) -> float:
    return float(item(tensor))
