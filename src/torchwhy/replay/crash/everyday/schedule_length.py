"""Measures how many steps a schedule was made for, and how many the loops around its step would make."""

from __future__ import annotations

import ast
import math
from typing import Any

import torch
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader

from torchwhy.replay.crash.frames.lookup import Lookup, Unknown
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts, line_of, user_frames
from torchwhy.source.files import loaded
from torchwhy.source.scopes import FUNCTIONS, LOOPS

SIZED = (list, tuple, dict, set, str, range, torch.Tensor, DataLoader)
BRANCHES = (ast.If, ast.Try, ast.IfExp, ast.BoolOp)


def note_schedule(frames: list[TracebackFrame], hidden: HiddenFacts) -> None:
    """Note the class of a scheduler whose step raised, its length, and the steps that the loops would make."""
    own = [one.variables.get("self") for one in frames]
    scheduler = next((one for one in reversed(own) if isinstance(one, LRScheduler)), None)
    if scheduler is None:
        return
    hidden.facts["schedule"] = type(scheduler).__name__
    length = vars(scheduler).get("total_steps")
    if isinstance(length, int):
        hidden.facts["schedule_length"] = float(length)
    wanted = _steps_of_loops(frames)
    if wanted is not None:
        hidden.facts["schedule_wanted"] = float(wanted)


def _steps_of_loops(frames: list[TracebackFrame]) -> int | None:
    """Return how often the loops around a call run; None if a branch or a loop of unknown length is among them."""
    lengths: list[int] = []
    may_skip = False
    for frame in user_frames(frames):
        source = loaded(frame.filename)
        statement = source.statement_at(line_of(frame)) if source is not None else None
        if source is None or statement is None:
            return None
        for place in source.around(statement):
            if isinstance(place, FUNCTIONS):
                break
            may_skip = may_skip or isinstance(place, BRANCHES)
            if isinstance(place, LOOPS):
                length = _length(place, Lookup(frame.live))
                if may_skip or length is None:
                    return None
                lengths.append(length)
    return math.prod(lengths) if lengths else None


def _length(loop: ast.AST, lookup: Lookup) -> int | None:
    """Return how often a loop runs; None if that takes running the program."""
    if not isinstance(loop, ast.For):
        return None
    try:
        return _items(loop.iter, lookup)
    except (Unknown, TypeError):
        return None


def _items(node: ast.expr, lookup: Lookup) -> int:
    if not isinstance(node, ast.Call):
        return _size(lookup.value(node))
    function: Any = lookup.value(node.func)
    if function is range:
        return len(range(*(lookup.value(one) for one in node.args)))
    if function is zip:
        return min(_items(one, lookup) for one in node.args)
    is_wrapper = function is enumerate or str(getattr(function, "__module__", "")).startswith(
        "tqdm"
    )
    if not is_wrapper or not node.args:
        raise Unknown(ast.unparse(node))
    return _items(node.args[0], lookup)


def _size(value: Any) -> int:
    if not isinstance(value, SIZED):
        raise Unknown(type(value).__name__)
    return len(value)
