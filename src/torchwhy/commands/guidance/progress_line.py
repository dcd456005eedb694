"""One line on a terminal that says how far a second run of the program is, and how long it may still take."""

from __future__ import annotations

from typing import IO

QUIET_SECONDS = 1.0  # A shorter wait needs no line.


class ProgressLine:
    """Shows steps done and the time left of a run up to step `last`; on anything but a terminal it shows nothing.

    The time left is told once two steps were seen apart: starting takes long and says nothing about the steps.
    """

    def __init__(
        self, stream: IO[str] | None, *, last: int | None, limit_seconds: float | None = None
    ) -> None:
        self._stream = stream if stream is not None and stream.isatty() else None
        self._last = last
        self._limit = limit_seconds
        self._first: tuple[float, int] | None = None
        self._shown = ""

    def __call__(self, seconds: float, reached: int | None) -> None:
        """Show that the run has gone on for so many seconds and has reached a step, if it has made one."""
        if reached is not None and self._first is None:
            self._first = seconds, reached
        line = f"torchwhy: {self.words(seconds, reached)}"
        if self._stream is None or seconds < QUIET_SECONDS or line == self._shown:
            return
        self._shown = line
        self._stream.write(f"\r\x1b[K{line}")
        self._stream.flush()

    def words(self, seconds: float, reached: int | None) -> str:
        """Return `step 40 of 120, 4 s, about 8 s left`."""
        if reached is None:
            return f"starting, {seconds:.0f} s{self._at_most}"
        if self._last is None:
            return f"step {reached}, {seconds:.0f} s{self._at_most}"
        left = self._seconds_left(seconds, reached)
        estimate = self._at_most if left is None else f", about {_duration(left)} left"
        return f"step {min(reached, self._last)} of {self._last}, {seconds:.0f} s{estimate}"

    @property
    def _at_most(self) -> str:
        return "" if self._limit is None else f" of at most {self._limit:.0f}"

    def _seconds_left(self, seconds: float, reached: int) -> float | None:
        if self._first is None or self._last is None or reached <= self._first[1]:
            return None
        began, first = self._first
        left = (seconds - began) / (reached - first) * max(0, self._last - reached)
        return left if self._limit is None else min(left, max(0.0, self._limit - seconds))

    def clear(self) -> None:
        """Remove the line."""
        if self._shown and self._stream is not None:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def _duration(seconds: float) -> str:
    """Return `8 s`, `3 min` or `2.5 h`."""
    if seconds < 100:
        return f"{max(1.0, seconds):.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"
