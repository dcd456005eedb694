"""An exception that leaves the program: noted with the user's own line, shown without frames of ours."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from torchwhy.finding import SourceSpan
from torchwhy.observe.frames import Site, layer_of, span_of
from torchwhy.record.events import ExceptionSeen

if TYPE_CHECKING:
    from torchwhy.observe.session import Session

_own_root = str(Path(__file__).resolve().parents[1]) + os.sep


def note_uncaught(session: Session, error: BaseException) -> TracebackType | None:
    """Write the exception down and return its traceback without our frames."""
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
    return without_own_frames(error.__traceback__)


def user_location(trace: TracebackType | None) -> SourceSpan | None:
    """Return the innermost expression of the user's own code in a traceback."""
    found = None
    while trace is not None:
        if layer_of(trace.tb_frame.f_code.co_filename) == "user":
            found = Site(trace.tb_frame.f_code, trace.tb_lasti)
        trace = trace.tb_next
    return span_of(found) if found else None


def without_own_frames(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback with our frames unlinked, and torch's `_ops` frame that our dispatch mode called."""
    while trace is not None and _is_ours(trace):
        trace = _after(trace)
    head = trace
    while trace is not None:
        while trace.tb_next is not None and _is_ours(trace.tb_next):
            trace.tb_next = _after(trace.tb_next)
        trace = trace.tb_next
    return head


def _is_ours(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_filename.startswith(_own_root)


def _after(trace: TracebackType) -> TracebackType | None:
    following = trace.tb_next
    if following is not None and following.tb_frame.f_code.co_filename.endswith(f"torch{os.sep}_ops.py"):
        return following.tb_next
    return following
