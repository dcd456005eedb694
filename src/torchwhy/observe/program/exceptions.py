"""Records an exception that ends the program with the user's own line, and takes our frames out of its traceback."""

from __future__ import annotations

import os
from pathlib import Path
from types import FrameType, TracebackType

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.torch_features.module_parts import (
    has_foreign_hooks,
    module_call_code,
    unhooked_call,
)
from torchwhy.observe.torch_features.torch_internals import OPERATIONS_FILE
from torchwhy.record.events import ExceptionSeen
from torchwhy.source.files import layer_of

_own_root = str(Path(__file__).resolve().parents[2]) + os.sep
LONGEST_MESSAGE = 2000  # characters


def uncaught(error: BaseException, step: int) -> ExceptionSeen:
    """Return the event of an exception that ended the program, with the user's own line."""
    return ExceptionSeen(
        step=step,
        type=type(error).__name__,
        message=str(error)[:LONGEST_MESSAGE],
        caught=False,
        location=user_location(error.__traceback__),
    )


def user_location(trace: TracebackType | None) -> SourceSpan | None:
    """Return the innermost expression of the user's own code in a traceback."""
    found = None
    while trace is not None:
        if layer_of(trace.tb_frame.f_code.co_filename) == "user":
            found = Site(trace.tb_frame.f_code, trace.tb_lasti)
        trace = trace.tb_next
    return span_of(found) if found else None


def clean(error: BaseException) -> None:
    """Take our frames out of the tracebacks of an exception, its causes, and the exceptions it groups."""
    waiting, seen = [error], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = without_own_frames(one.__traceback__)
        related = (one.__cause__, one.__context__, *getattr(one, "exceptions", ()))
        waiting += [other for other in related if isinstance(other, BaseException)]


def without_own_frames(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback as it would be without us.

    This leaves out our frames, torch's `_ops` frame that our dispatch mode called, and the frame that a module call
    has only because of our forward hooks.
    """
    entries: list[tuple[FrameType, int, int]] = []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(_own_root):
            trace = trace.tb_next
            if trace is not None and trace.tb_frame.f_code.co_filename.endswith(OPERATIONS_FILE):
                trace = trace.tb_next
        elif _is_hooked_call(trace):
            entries.append((trace.tb_frame, *unhooked_call()))
            trace = trace.tb_next.tb_next if trace.tb_next is not None else None
        else:
            entries.append((trace.tb_frame, trace.tb_lasti, trace.tb_lineno))
            trace = trace.tb_next
    return _joined(entries)


def up_to_user_code(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback up to the user's innermost line; up to its first entry if none is the user's."""
    entries: list[tuple[FrameType, int, int]] = []
    kept = 1
    while trace is not None:
        entries.append((trace.tb_frame, trace.tb_lasti, trace.tb_lineno))
        if layer_of(trace.tb_frame.f_code.co_filename) == "user":
            kept = len(entries)
        trace = trace.tb_next
    return _joined(entries[:kept])


def _joined(entries: list[tuple[FrameType, int, int]]) -> TracebackType | None:
    joined = None
    for entry in reversed(entries):
        joined = TracebackType(joined, *entry)
    return joined


def _is_hooked_call(trace: TracebackType) -> bool:
    """Tell whether this is a module's call that runs hooks only because of ours."""
    code = module_call_code()
    if trace.tb_frame.f_code is not code or trace.tb_next is None:
        return False
    if trace.tb_next.tb_frame.f_code not in code.co_consts:
        return False
    return not has_foreign_hooks(trace.tb_frame.f_locals.get("self"), "torchwhy")
