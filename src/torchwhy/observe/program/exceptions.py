"""An exception that leaves the program: noted with the user's own line, shown without frames of ours."""

from __future__ import annotations

import os
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from torchwhy.observe.session import Session

_own_root = str(Path(__file__).resolve().parents[2]) + os.sep


def note_uncaught(session: Session, error: BaseException) -> None:
    """Write the exception down with the user's own line."""
    location = user_location(error.__traceback__)
    session.write(
        ExceptionSeen(
            step=session.sentinel.step,
            type=type(error).__name__,
            message=str(error)[:2000],
            caught=False,
            location=location,
        )
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
    """Take our frames out of the tracebacks of an exception, of its causes and of those it groups."""
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

    Left out are our frames, torch's `_ops` frame that our dispatch mode called, and the way a module's call
    takes because of our forward hooks.
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
    cleaned = None
    for entry in reversed(entries):
        cleaned = TracebackType(cleaned, *entry)
    return cleaned


def _is_hooked_call(trace: TracebackType) -> bool:
    """Tell whether this is a module's call that runs hooks only because of ours."""
    code = module_call_code()
    if trace.tb_frame.f_code is not code or trace.tb_next is None:
        return False
    if trace.tb_next.tb_frame.f_code not in code.co_consts:
        return False
    return not has_foreign_hooks(trace.tb_frame.f_locals.get("self"), "torchwhy")
