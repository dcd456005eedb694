"""Finds the line of the program that draws a random number while a row is read."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from torchwhy.finding import SourceSpan
from torchwhy.source.files import layer_of, shown_path

MOST_LINES = 20_000  # executed lines of the program that are followed


class RandomLine:
    """Follows the program line by line, and notes the first one after which a global generator has moved."""

    def __init__(self) -> None:
        self.found: tuple[str, int, str] | None = None
        self._state = _fingerprint()
        self._last: tuple[str, int, str] | None = None
        self._lines = 0

    def during(self, read: Callable[[], object]) -> SourceSpan | None:
        """Run `read`, and return the line; None if no global generator moved in the program's own code."""
        before = sys.gettrace()
        sys.settrace(self._entered)
        try:
            read()
        finally:
            sys.settrace(before)
        self._compare()
        if self.found is None:
            return None
        import linecache

        file, line, function = self.found
        text = linecache.getline(file, line).strip()
        return SourceSpan(file=shown_path(file), line=line, function=function, expression=text)

    def _entered(self, frame: FrameType, _: str, __: Any) -> Any:
        self._compare()
        if layer_of(frame.f_code.co_filename) != "user" or self.found is not None:
            return None
        return self._line

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        self._compare()
        self._lines += 1
        if self.found is not None or self._lines > MOST_LINES:
            return None
        if event in ("line", "call"):
            self._last = (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        return self._line

    def _compare(self) -> None:
        if self.found is None and self._last is not None and _fingerprint() != self._state:
            self.found = self._last


def _fingerprint() -> tuple[Any, ...]:
    numpy: Any = sys.modules.get("numpy")
    state: Any = None
    if numpy is not None and hasattr(numpy, "random"):
        _, keys, position, *_ = numpy.random.get_state()
        state = (int(position), bytes(keys[:4]))
    of_torch = torch.default_generator.get_state().numpy().tobytes()
    return hash(of_torch), hash(random.getstate()), state
