"""What Linux knows of another process: whether it lives, handles a signal, uses the processor, reads its input."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from pathlib import Path

# Numbers of the system calls `read`, and `select` in its forms, by processor.
READS = {"x86_64": "0", "aarch64": "63"}
SELECTS = {"x86_64": ("23", "270"), "aarch64": ("72",)}
STATE, USER_TIME, SYSTEM_TIME = 0, 11, 12  # among the fields of `stat` after the name


def lives(pid: int) -> bool:
    """Tell whether a process has not ended; one that nobody has waited for has."""
    fields = _stat_fields(pid)
    return bool(fields) and fields[STATE] not in ("Z", "X")


def processor_seconds(pid: int) -> float:
    """Return the processor time of all threads of a process so far."""
    fields = _stat_fields(pid)
    if not fields:
        return 0.0
    ticks = int(fields[USER_TIME]) + int(fields[SYSTEM_TIME])
    return ticks / os.sysconf("SC_CLK_TCK")


def handles(pid: int, signal: int) -> bool:
    """Tell whether a process has a handler for a signal; without one, the signal would end it."""
    for line in _text(pid, "status").splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (signal - 1) & 1)
    return False


def has_open(pid: int, descriptor: int, path: Path) -> bool:
    """Tell whether a descriptor of a process is this file still."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/fd/{descriptor}").readlink() == path.resolve()
    return False


def reads_input(pid: int) -> bool:
    """Tell whether the main thread of a process waits for its standard input."""
    words = _text(pid, "syscall").split()
    machine = platform.machine()
    if len(words) < 2:
        return False
    if words[0] == READS.get(machine):
        return words[1] == "0x0"
    return (
        words[0] in SELECTS.get(machine, ()) and words[1] == "0x1"
    )  # It waits for descriptor 0 alone.


def children_of(pid: int) -> list[int]:
    """Return the processes that a process started and that have not been waited for."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(word) for word in (task / "children").read_text().split()]
    return found


def _stat_fields(pid: int) -> list[str]:
    return _text(pid, "stat").rpartition(")")[2].split()


def _text(pid: int, name: str) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    return ""
