"""Finds the expression that reversed a NumPy array."""

from __future__ import annotations

from types import FunctionType

from torchwhy.observe.torch_features.loader_parts import dataset_of
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts, line_of, user_frames
from torchwhy.source.analyses.array_turns import is_turning, turning_behind
from torchwhy.source.files import scope_of, span_in
from torchwhy.source.scopes import inside


def look(frames: list[TracebackFrame], hidden: HiddenFacts) -> HiddenFacts:
    """Note the place `turned`: in the failing line, in the code that made its operands, or in the dataset's methods."""
    users = user_frames(frames)
    found = None
    if users:
        code = users[0].code
        scope = scope_of(code)
        if scope is not None:
            found = turning_behind(users[0].node, scope, line_of(users[0]))
        if found is not None:
            hidden.places["turned"] = span_in(code, found)
            return hidden
    for function in _dataset_methods(frames):
        scope = scope_of(function.__code__)
        for node in inside(scope) if scope is not None else ():
            if is_turning(node):
                hidden.places["turned"] = span_in(function.__code__, node)
    return hidden


def _dataset_methods(frames: list[TracebackFrame]) -> list[FunctionType]:
    for frame in frames:
        dataset = dataset_of(frame.variables.get("self"))
        if dataset is not None:
            return [
                value for value in vars(type(dataset)).values() if isinstance(value, FunctionType)
            ]
    return []
