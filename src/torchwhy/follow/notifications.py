"""`--notify CMD`: hands what is told of a running program to a command, as JSON on its standard input.

The command runs without a shell, in a session of its own and without a way to the program's streams. One at a time
runs, for a limited time, on a thread that the run does not wait for.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from torchwhy.follow.live_diagnosis import Change
from torchwhy.printable import escaped_json
from torchwhy.record.run_file import Run, known_secrets
from torchwhy.record.secrets import masked_command
from torchwhy.report.model import Report

SCHEMA = 1
LIMIT_SECONDS = 30.0  # for one call of the command
LAST_SECONDS = 10.0  # for what is still to be handed over when the run has ended
MOST_CALLS = 20  # of one run


def message_of(change: Change, run_directory: Path, run: Run) -> dict[str, Any]:
    """Return what the command gets; `finding` is as in report.json."""
    report = Report(masked_command(run.command), change.step + 1, (change.finding,))
    facts = {
        "schema": SCHEMA,
        "event": change.what,
        "step": change.step,
        "command": list(report.command),
        "directory": run.directory,
        "run": str(run_directory),
        "finding": report.to_json()["findings"][0],
    }
    masked: dict[str, Any] = known_secrets().masked_data(facts)
    return masked


class Notifier:
    """Calls the command for one message after another; a call that fails is told once."""

    def __init__(
        self, words: list[str], complain: Callable[[str], None], *, limit: float = LIMIT_SECONDS
    ) -> None:
        self._words = words
        self._complain = complain
        self._limit = limit
        self._waiting: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._calls = 0
        self._failed = False
        self._running: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._work, name="torchwhy-notify", daemon=True)

    def send(self, facts: Mapping[str, Any]) -> None:
        """Hand over a message and return at once."""
        if self._calls >= MOST_CALLS:
            return
        self._calls += 1
        self._waiting.put(escaped_json(json.dumps(facts, allow_nan=False)).encode() + b"\n")
        if self._calls == 1:
            self._thread.start()

    def close(self, seconds: float = LAST_SECONDS) -> None:
        """Wait until all messages are handed over, or kill the command that takes longer."""
        if not self._calls:
            return
        self._waiting.put(None)
        self._thread.join(seconds)
        running = self._running
        if self._thread.is_alive() and running is not None:
            self._fail(f"took longer than {seconds:g} s after the end of the run and was killed")
            _kill(running)

    def _work(self) -> None:
        while (message := self._waiting.get()) is not None:
            try:
                self._call(message)
            except OSError as problem:
                self._fail(f"could not be started: {problem.strerror or problem}")

    def _call(self, message: bytes) -> None:
        self._running = subprocess.Popen(
            self._words,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            self._running.communicate(message, timeout=self._limit)
        except subprocess.TimeoutExpired:
            self._fail(f"took longer than {self._limit:g} s and was killed")
            _kill(self._running)
        if self._running.returncode:
            self._fail(f"ended with exit code {self._running.returncode}")
        self._running = None

    def _fail(self, why: str) -> None:
        if not self._failed:
            self._failed = True
            self._complain(f"--notify: {self._words[0]} {why}.")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a command with all that it started, and drop what it has not read."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with suppress(OSError, ValueError):
        if process.stdin is not None:
            process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
