"""Signals that ask torchwhy to end: the program gets them first, the report still comes, the exit is by the signal."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

NAMES = ("SIGTERM", "SIGHUP", "SIGINT")


class EndingSignals:
    """Knows the signal that asked for the end, and how the process is to exit.

    The first one interrupts a repeated run, and nothing else: what is known is still reported. A second one ends
    the process at once.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self.exit_by: int | None = None
        self.cleanups: list[Callable[[], object]] = []  # for an end without unwinding
        self._stops: list[Callable[[], object]] = []  # of the repeated runs that are going on
        self._interrupts = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Receive the signals that the caller of torchwhy does not ignore."""
        previous = {}
        for name in NAMES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                previous[number] = signal.signal(number, self._receive)
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    @contextmanager
    def stopping(self, stop_child: Callable[[], object]) -> Iterator[None]:
        """Let a signal end a repeated run by `KeyboardInterrupt`, and a second one kill it.

        Python handles signals in its main thread; a run that another thread waits for looks at `received` itself.
        """
        is_main = threading.current_thread() is threading.main_thread()
        self._stops.append(stop_child)
        self._interrupts |= is_main
        try:
            yield
        finally:
            self._stops.remove(stop_child)
            if is_main:
                self._interrupts = False

    def raise_early(self) -> None:
        """Raise `KeyboardInterrupt` for a signal that came before the run could be stopped."""
        if self.received is not None:
            raise KeyboardInterrupt

    def _receive(self, number: int, _frame: object) -> None:
        if self.received is not None:
            for clean_up in (*self._stops, *self.cleanups):
                clean_up()
            end_by(number)
        self.received = number
        if self._interrupts:
            raise KeyboardInterrupt

    @property
    def asks_to_leave(self) -> int | None:
        """Return the signal by which to exit after the report: not an interrupt from the keyboard."""
        return self.received if self.received != signal.SIGINT else None


def end_by(number: int) -> None:
    """End this process by a signal, as the program itself was ended, and without a second core dump."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


ending = EndingSignals()
