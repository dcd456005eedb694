"""Runs the body of the user's loop once more with the item it has, by moving execution back to the body's first line.

That is what `jump` does in Python's own debugger: the loop's iterator is left alone, so a slice, a generator or a line
of standard input is used again, not the next one. Only with a trace function, and never if the program has its own.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

from torchwhy.observe.program.names import borrowed_locals
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.source.analyses.repeatable_loops import RepeatableLoop, loop_around
from torchwhy.source.files import layer_of, scope_of


class LoopRepeater:
    """Prepared when a step has failed."""

    def __init__(self) -> None:
        self._gave_up: Callable[[], object] = lambda: None
        self._before_body: Callable[[], object] = lambda: None
        self._frame: FrameType | None = None
        self._loop: RepeatableLoop | None = None
        self._target = 0
        self._has_jumped = False

    @property
    def carries(self) -> bool:
        """Tell whether the loop has variables whose values at the start of the body are gone."""
        return self._loop is None or bool(self._loop.carried)

    def prepare(self) -> bool:
        """Find the innermost loop of the program around the current call; False if its body cannot run again."""
        self._frame = self._loop = None
        if sys.gettrace() is not None:
            return False
        frame: FrameType | None = frame_at(1)
        while frame is not None:
            if layer_of(frame.f_code.co_filename) == "user":
                scope = scope_of(frame.f_code)
                loop = loop_around(scope, frame.f_lineno) if scope is not None else None
                target = _first_line(frame, loop.first) if loop is not None else None
                if loop is not None:
                    self._frame, self._loop, self._target = frame, loop, target or 0
                    return target is not None
            frame = frame.f_back
        return False

    def begin(self, before_body: Callable[[], object], gave_up: Callable[[], object]) -> None:
        """Move execution back as soon as the current call has returned; `before_body` is called then.

        `gave_up` is called if that is impossible, or if the body ends without making the step.
        """
        frame = self._frame
        if frame is None:
            return
        self._before_body, self._gave_up, self._has_jumped = before_body, gave_up, False
        frame.f_trace_lines = True
        frame.f_trace = self._event
        sys.settrace(self._call)

    def end(self) -> None:
        """Take the trace function off."""
        frame, self._frame = self._frame, None
        if frame is None:
            return
        if sys.gettrace() == self._call:
            sys.settrace(None)
        if frame.f_trace == self._event:
            frame.f_trace = None
        borrowed_locals(frame)  # empties the copy of its variables that tracing leaves behind

    def _call(self, frame: FrameType, event: str, arg: Any) -> None:  # noqa: ARG002 - Python's signature
        return None

    def _event(self, frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ARG002 - Python's signature
        loop = self._loop
        if frame is not self._frame or loop is None:
            return None
        if event != "line":
            return self._event
        line = frame.f_lineno
        if not self._has_jumped:
            if line not in loop.body and line not in loop.header:
                self._stop()
            elif loop.may_leave(line):
                self._jump(frame, loop)
        elif line in loop.header or line not in loop.body:
            self._stop()
        return self._event if self._frame is not None else None

    def _jump(self, frame: FrameType, loop: RepeatableLoop) -> None:
        self._has_jumped = True
        variables = frame.f_locals
        for name, increase in loop.counters.items():
            value = variables.get(name)
            if type(value) is int:
                variables[name] = value - increase
        self._before_body()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                # Python allows it in a trace function.
                frame.f_lineno = self._target  # type: ignore[misc]
        except ValueError:
            self._stop()

    def _stop(self) -> None:
        """Take the trace function off; the program runs on, and somebody else has to end the repetition."""
        frame, self._frame = self._frame, None
        sys.settrace(None)
        if frame is not None:
            frame.f_trace = None
        self._gave_up()


def _first_line(frame: FrameType, lines: range) -> int | None:
    """Return the line at which the code of a statement begins, which need not be the first one of its text."""
    found = (line for _, _, line in frame.f_code.co_lines() if line is not None and line in lines)
    return next(found, None)
