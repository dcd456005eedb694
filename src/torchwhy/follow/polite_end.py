"""Ends a running program as Ctrl-C would, so that it can save and clean up; never by SIGKILL."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from subprocess import Popen

from torchwhy.observe.launch import records_into
from torchwhy.record.events import RunStarted
from torchwhy.record.trace import Trace


class PoliteEnd:
    """Interrupts the program once, and terminates it once if it trains on; `asked_at` is the step of the interrupt."""

    def __init__(self, child: Popen[bytes], run_directory: Path) -> None:
        self._child = child
        self._run_directory = run_directory
        self._processes: list[int] = []
        self._step_after: int | None = None  # the newest step at the first look after the interrupt
        self._is_terminated = False
        self.asked_at: int | None = None

    def ask(self, step: int, traces: Iterable[Trace]) -> None:
        """Interrupt the program: its first process, and those that train, as a terminal does."""
        self.asked_at = step
        training = {one.pid for trace in traces for one in trace.of(RunStarted)}
        others = training - {self._child.pid}
        ours = sorted(one for one in others if records_into(one, self._run_directory))
        self._processes = [self._child.pid, *ours]
        # A job in the background of a script, or under nohup, ignores interrupts.
        is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        self._send(signal.SIGTERM if is_ignored else signal.SIGINT)

    def insist(self, step: int) -> bool:
        """Terminate a program that has made steps between two looks after the interrupt; tell whether this was so.

        One that saves its state or evaluates makes none, and is left the time it needs.
        """
        if self._step_after is None:
            self._step_after = step
            return False
        if self._is_terminated or step <= self._step_after:
            return False
        self._is_terminated = True
        self._send(signal.SIGTERM)
        return True

    def _send(self, number: signal.Signals) -> None:
        for process in self._processes:
            with suppress(OSError):
                if process != self._child.pid:
                    os.kill(process, number)
                elif self._child.returncode is None:
                    self._child.send_signal(number)
