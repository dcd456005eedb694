"""Ends a running program as Ctrl-C would, so that it can save and clean up; never by SIGKILL."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from subprocess import Popen

from torchwhy.observe.launch import records_into
from torchwhy.record.events import RunStarted
from torchwhy.record.trace import Trace

FORWARDED_SECONDS = 30.0  # Launchers that hand a signal on leave their workers this long, too.
PATIENCE_SECONDS = 300.0  # A program may finish its epoch before it saves.


class PoliteEnd:
    """Interrupts the program, and does more only if it trains on; `asked_at` is the newest step at the interrupt.

    The first process is interrupted alone: a launcher hands the signal on, and processes that got it twice could not
    save in peace. A shell does not hand it on, so processes that train on get it later, and in the end all get SIGTERM.
    """

    def __init__(self, child: Popen[bytes], run_directory: Path) -> None:
        self._child = child
        self._run_directory = run_directory
        self._step_before: int | None = None  # the newest step at the look before
        self._interrupted: set[int] = set()
        self._interrupted_seconds = 0.0  # when the last process was interrupted, by the clock
        self._is_terminated = False
        self.asked_at: int | None = None

    def ask(self, step: int) -> None:
        """Interrupt the program."""
        self.asked_at = step
        self._interrupt({self._child.pid})

    def insist(self, step: int, traces: Iterable[Trace]) -> bool:
        """Go further if the program has made steps since the last look; tell whether it was terminated now.

        One that saves its state or evaluates makes no steps, and is left the time it needs.
        """
        before, self._step_before = self._step_before, step
        if before is None or step <= before or self._is_terminated:
            return False
        waited = time.monotonic() - self._interrupted_seconds
        training = {one.pid for trace in traces for one in trace.of(RunStarted)}
        ours = {one for one in training if records_into(one, self._run_directory)}
        if ours - self._interrupted:
            if waited >= FORWARDED_SECONDS:
                self._interrupt(ours - self._interrupted)
            return False
        if waited < PATIENCE_SECONDS:
            return False
        self._is_terminated = True
        self._send(signal.SIGTERM, ours | {self._child.pid})
        return True

    def _interrupt(self, processes: set[int]) -> None:
        self._interrupted |= processes
        self._interrupted_seconds = time.monotonic()
        # A job in the background of a script, or under nohup, ignores interrupts.
        is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        self._send(signal.SIGTERM if is_ignored else signal.SIGINT, processes)

    def _send(self, number: signal.Signals, processes: set[int]) -> None:
        for process in sorted(processes):
            with suppress(OSError):
                if process != self._child.pid:
                    os.kill(process, number)
                elif self._child.returncode is None:
                    self._child.send_signal(number)
