"""Ends a program that hangs: SIGTERM, then SIGKILL, because a process that waits in C may hear nothing else."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from subprocess import Popen

from torchwhy.follow.hangs.process_facts import lives
from torchwhy.observe.launch import records_into
from torchwhy.record.standing.stack_file import FILE_NAME

FIRST_SECONDS = 5.0  # for the program, or the launcher that hands the signal on
LAST_SECONDS = 30.0  # for all processes, before they are killed
POLL_SECONDS = 0.1


def end_hanging(child: Popen[bytes], run_directory: Path, wait: Callable[[float], bool]) -> None:
    """End the program and all its recorded processes; `wait` returns early, and True, if the program has ended.

    Processes that the program started may outlive it: they wait for each other and not for it.
    """
    _send(child, {child.pid}, signal.SIGTERM)
    wait(FIRST_SECONDS)
    _send(child, _recorded(run_directory), signal.SIGTERM)
    deadline = time.monotonic() + LAST_SECONDS
    while _recorded(run_directory) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    _send(child, _recorded(run_directory), signal.SIGKILL)


def _recorded(run_directory: Path) -> set[int]:
    names = (FILE_NAME.fullmatch(path.name) for path in run_directory.glob("process-*.stacks"))
    found = {int(name[1]) for name in names if name is not None}
    return {pid for pid in found if lives(pid) and records_into(pid, run_directory)}


def _send(child: Popen[bytes], processes: set[int], number: signal.Signals) -> None:
    for process in sorted(processes):
        with suppress(OSError):
            if process != child.pid:
                os.kill(process, number)
            elif child.returncode is None:
                child.send_signal(number)
