"""Writes events into the trace: at once, or after one of the next steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from torchwhy.record.events import Event
from torchwhy.record.writer import TraceWriter

FEW_EVENTS = 4  # postponed events written after a step, or a quarter of them if that is more


class Recorder:
    """Takes events from all probes; `failed` is called if the trace cannot be written (a full disk)."""

    def __init__(self, writer: TraceWriter, failed: Callable[[OSError], None]) -> None:
        self._writer = writer
        self._failed = failed
        self._postponed: deque[Callable[[], Event]] = deque()

    def write(self, event: Event) -> None:
        """Append one event to the trace."""
        try:
            self._writer.write(event)
        except OSError as problem:
            self._failed(problem)

    def postpone(self, make: Callable[[], Event]) -> None:
        """Build and write an event after one of the next steps, because the first step is long enough."""
        self._postponed.append(make)

    def write_later(self, event: Event) -> None:
        """Write a finished event after one of the next steps."""
        self._postponed.append(lambda: event)

    def write_postponed(self, *, all_of_them: bool = False) -> None:
        """Write some of the postponed events, so that none is left after a few steps."""
        waiting = self._postponed
        count = len(waiting) if all_of_them else max(FEW_EVENTS, len(waiting) // FEW_EVENTS)
        for _ in range(min(count, len(waiting))):
            self.write(waiting.popleft()())

    @property
    def has_postponed(self) -> bool:
        """Tell whether an event waits to be written."""
        return bool(self._postponed)
