"""Python's own monitoring of exceptions that some code handles, from Python 3.12 on.

It costs nothing until an exception is handled. It sees the exception while its frames are alive, and adds none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

Handled = Callable[[CodeType, BaseException], object]
TOOL_IDS = (4, 3, 5)  # ids that no well-known tool has: 0 debugger, 1 coverage, 2 profiler


class HandledExceptions:
    """Calls `handled` with the code that handles an exception, and the exception."""

    def __init__(self, handled: Handled) -> None:
        self._handled = handled
        self._tool: int | None = None

    @property
    def is_on(self) -> bool:
        """Tell whether exceptions are monitored."""
        return self._tool is not None

    def begin(self) -> None:
        """Take a free tool id; without one, or before Python 3.12, do nothing."""
        monitoring: Any = getattr(sys, "monitoring", None)
        if self._tool is not None or monitoring is None:
            return
        free = [number for number in TOOL_IDS if monitoring.get_tool(number) is None]
        if not free:
            return
        self._tool = free[0]
        handled = monitoring.events.EXCEPTION_HANDLED
        monitoring.use_tool_id(self._tool, "torchwhy")
        monitoring.register_callback(self._tool, handled, self._called)
        monitoring.set_events(self._tool, handled)

    def end(self) -> None:
        """Give the tool id back."""
        monitoring: Any = getattr(sys, "monitoring", None)
        if self._tool is None or monitoring is None:
            return
        monitoring.set_events(self._tool, 0)
        monitoring.register_callback(self._tool, monitoring.events.EXCEPTION_HANDLED, None)
        monitoring.free_tool_id(self._tool)
        self._tool = None

    def _called(self, code: CodeType, offset: int, error: BaseException) -> None:  # noqa: ARG002
        self._handled(code, error)
