"""Lets the supervisor have the stacks of this process at any time, also while its main thread waits in C.

`faulthandler` writes them from a handler of a real-time signal that nobody else uses. It takes no lock, runs no Python
code, and lets an interrupted system call go on. The handler stays until the process ends, because a program can also
hang while it ends.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
from pathlib import Path

import msgspec

from torchwhy.record.standing.stack_file import Asked, stack_file_of

BELOW_LAST = 7  # The signal's distance from the last real-time signal, away from those that libraries choose.


def allow_stack_dumps(run_directory: Path) -> None:
    """Register the handler, unless this system has no such signal or the program uses it."""
    if sys.platform != "linux":
        return
    number = signal.SIGRTMAX - BELOW_LAST
    if signal.getsignal(number) is not signal.SIG_DFL:
        return
    path = stack_file_of(run_directory, os.getpid())
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC
    descriptor = os.open(path, flags, 0o644)
    rank = os.environ.get("RANK", "")
    asked = Asked(
        pid=os.getpid(),
        signal=int(number),
        descriptor=descriptor,
        main_thread=threading.main_thread().ident or 0,
        rank=int(rank) if rank.isdecimal() else None,
    )
    faulthandler.register(number, file=descriptor, all_threads=True, chain=False)
    os.write(descriptor, msgspec.json.encode(asked) + b"\n")
