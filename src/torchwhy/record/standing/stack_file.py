"""`process-PID.stacks`: a line about the process, then the stacks of its threads each time the supervisor asks.

`faulthandler` writes them from a signal handler, so they come also from a process whose main thread waits in C.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from torchwhy.plain_data import dataclass

LARGEST_STACKS = 4_000_000
FILE_NAME = re.compile(r"process-(\d{1,9})\.stacks")
_THREAD = re.compile(r"^(?:Current thread|Thread) 0x([0-9a-f]+)")
_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$')
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")


class Asked(msgspec.Struct, frozen=True):
    """How to ask a process for its stacks, and who it is; the first line of the file."""

    pid: int
    signal: int
    descriptor: int
    main_thread: int
    rank: int | None = None  # as the environment has it


class Frame(msgspec.Struct, frozen=True):
    """One call that has not returned."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class Stack:
    """The calls of one thread, innermost first."""

    thread: int
    frames: tuple[Frame, ...]


def stack_file_of(run_directory: Path, pid: int) -> Path:
    """Return the path of the file of a process."""
    return run_directory / f"process-{pid}.stacks"


def parse_stacks(text: str) -> list[Stack]:
    """Return the stacks in what `faulthandler` wrote; lines that it did not write are left out."""
    found: list[tuple[int, list[Frame]]] = []
    for line in text.splitlines():
        thread, frame = _THREAD.match(line), _FRAME.match(line)
        if thread is not None:
            found.append((int(thread[1], 16), []))
        elif frame is not None and found:
            found[-1][1].append(Frame(_unescaped(frame[1]), int(frame[2]), _unescaped(frame[3])))
    return [Stack(thread, tuple(frames)) for thread, frames in found]


def main_stack(stacks: list[Stack], main_thread: int) -> Stack | None:
    """Return the stack of the main thread; after a fork it is the only one, else the oldest, which stands last."""
    named = [stack for stack in stacks if stack.thread == main_thread]
    found = named or stacks
    return found[-1] if found else None


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1] or found[2] or found[3], 16)), text)
