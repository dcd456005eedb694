"""Notices an exception that reaches code of the user's: by `sys.monitoring`, or before Python 3.12 by `sys.settrace`.

Both see an exception while its frames are alive. Monitoring costs nothing until an exception is raised, so it stays on
for the whole run. A trace function slows down every Python call, so it is on for single steps, and never if the program
has one of its own (a debugger, coverage).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any, Protocol

from torchwhy.observe.native.records import fast
from torchwhy.observe.program.handled_exceptions import HandledExceptions
from torchwhy.observe.program.names import forget_snapshot
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.source.files import layer_of

Arrived = Callable[[BaseException, TracebackType], object]
# Events (calls, lines, returns) under a trace function in C, and calls under one in Python: some seconds of each.
MOST_EVENTS, MOST_CALLS = 20_000_000, 3_000_000


class Watcher(Protocol):
    """A watcher that can be put on and taken off any number of times."""

    stays_on: bool

    @property
    def is_on(self) -> bool: ...
    def begin(self) -> None: ...
    def end(self) -> None: ...


def watcher_for(arrived: Arrived) -> Watcher:
    """Return the cheapest watcher that this Python has."""
    if sys.version_info >= (3, 12):
        return Monitor(arrived)
    return Tracer(arrived) if fast is None else NativeTracer(arrived)


class Tracer:
    """A trace function for exceptions in the user's frames, without line events."""

    stays_on = False

    def __init__(self, arrived: Arrived) -> None:
        self._arrived = arrived
        self.is_on = False
        self._calls = 0

    def begin(self) -> None:
        """Watch this thread, including frames that are already running."""
        if self.is_on or sys.gettrace() is not None:
            return
        self.is_on = True
        self._calls = 0
        frame: FrameType | None = frame_at(1)
        while frame is not None:
            if layer_of(frame.f_code.co_filename) == "user":
                frame.f_trace_lines = False
                frame.f_trace = self._event
            frame = frame.f_back
        sys.settrace(self._call)

    def end(self) -> None:
        """Remove the trace function, from all frames too."""
        if not self.is_on:
            return
        self.is_on = False
        if sys.gettrace() == self._call:
            sys.settrace(None)
        frame: FrameType | None = frame_at(1)
        while frame is not None:
            if frame.f_trace == self._event:
                frame.f_trace = None
                frame.f_trace_lines = True
            frame = frame.f_back

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ARG002 - Python's signature
        self._calls += 1
        if self._calls > MOST_CALLS:
            self.end()
        if not self.is_on or layer_of(frame.f_code.co_filename) != "user":
            return None
        frame.f_trace_lines = False
        return self._event

    def _event(self, frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ARG002 - Python's signature
        if event == "exception" and self.is_on:
            _, error, trace = arg
            if isinstance(error, BaseException) and trace is not None:
                self._arrived(error, trace)
        return self._event if self.is_on else None


class NativeTracer:
    """The same in C, so that Python calls no Python function at every call."""

    stays_on = False

    def __init__(self, arrived: Arrived) -> None:
        self._arrived = arrived
        self._tracer = fast.Tracer(self._raised)

    @property
    def is_on(self) -> bool:
        """Tell whether the trace function is on."""
        return sys.gettrace() is self._tracer

    def begin(self) -> None:
        """Watch this thread."""
        if sys.gettrace() is None:
            self._tracer.begin(MOST_EVENTS)

    def end(self) -> None:
        """Remove the trace function."""
        self._tracer.end()

    def _raised(self, frame: FrameType, arg: Any) -> None:
        _, error, trace = arg
        if layer_of(frame.f_code.co_filename) != "user":
            return
        if isinstance(error, BaseException) and trace is not None:
            self._arrived(error, trace)


class Monitor:
    """Python's own monitoring of handled exceptions."""

    stays_on = True

    def __init__(self, arrived: Arrived) -> None:
        self._arrived = arrived
        self._exceptions = HandledExceptions(self._handled)

    @property
    def is_on(self) -> bool:
        """Tell whether exceptions are monitored."""
        return self._exceptions.is_on

    def begin(self) -> None:
        """Watch all threads."""
        self._exceptions.begin()

    def end(self) -> None:
        """Stop watching."""
        self._exceptions.end()

    def _handled(self, code: CodeType, error: BaseException) -> None:
        trace = error.__traceback__
        if (
            trace is not None
            and layer_of(code.co_filename) == "user"
            and trace.tb_frame.f_code is code
        ):
            self._arrived(error, trace)
            forget_snapshot(trace.tb_frame)  # It runs on, and its batch shall die with its loop.
