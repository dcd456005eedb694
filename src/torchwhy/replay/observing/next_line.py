"""Calls a function of ours at the next line of the program, outside of the operation that is running now.

A dispatch mode cannot leave torch's stack from inside an operation: torch has it off meanwhile, and puts it back.
Nothing of ours runs after the operation, so a trace function waits for the next line. It is gone when that line begins.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.source.files import is_own

MOST_EVENTS = 64  # lines and returns that the function may refuse before we give up
MOST_FRAMES = 200  # of a deep recursion


class NextLine:
    """Waits in the frames that are running; never if something traces already (a debugger, coverage, our watcher)."""

    def __init__(self, act: Callable[[], bool]) -> None:
        self._act = act  # returns False if this is no place for it
        self._left = 0
        self._frames: list[FrameType] = []

    def wait(self) -> None:
        """Call the function at the next line, and at the following ones while it refuses."""
        if sys.gettrace() is not None:
            return
        self._left = MOST_EVENTS
        frame: FrameType | None = frame_at(1)
        while frame is not None and len(self._frames) < MOST_FRAMES:
            if not is_own(frame.f_code.co_filename) and frame.f_trace is None:
                frame.f_trace = self._event
                self._frames.append(frame)
            frame = frame.f_back
        sys.settrace(self._call)

    def _call(self, frame: FrameType, event: str, arg: Any) -> None:
        """Follow no frame that begins meanwhile."""

    def _event(self, frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ARG002 - Python's signature
        try:
            self._left -= 1
            if self._left < 0 or self._act():
                self._end()
                return None
        except Exception:
            self._end()
            return None
        return self._event

    def _end(self) -> None:
        if sys.gettrace() == self._call:
            sys.settrace(None)
        for frame in self._frames:
            if frame.f_trace == self._event:
                frame.f_trace = None
        self._frames.clear()
