"""Runs a command of torchwhy for an agent: no shell, no input, bounded time, the beginning and end of its output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path

import anyio
from anyio.abc import Process

from torchwhy.plain_data import dataclass

HEAD = 6_000  # bytes; a program tells its settings first and its end last
TAIL = 24_000
GRACE_SECONDS = 20.0  # for torchwhy to end the program and write the report
HIDDEN = ("GITHUB_WORKSPACE",)  # would let file names be relative to a folder above


@dataclass
class Kept:
    """The first and the last bytes of an output, whatever its length."""

    first: int = HEAD
    last: int = TAIL
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    left_out: int = 0

    def add(self, chunk: bytes) -> None:
        """Take the next piece of output."""
        room = self.first - len(self.head)
        self.head += chunk[:room]
        self.tail += chunk[room:] if room < len(chunk) else b""
        surplus = len(self.tail) - self.last
        if surplus > 0:
            del self.tail[:surplus]
            self.left_out += surplus

    @property
    def text(self) -> str:
        """Return the output, with a line where something is left out."""
        gap = f"\n[… {self.left_out} bytes left out …]\n" if self.left_out else ""
        return self.head.decode(errors="replace") + gap + self.tail.decode(errors="replace")


@dataclass(frozen=True)
class Ended:
    """What a command printed and how it ended; `code` is None if its time was up."""

    text: str
    code: int | None
    left_out: int = 0


async def torchwhy(
    words: Sequence[str], *, root: Path, limit_seconds: float, first: int = HEAD
) -> Ended:
    """Run a command of torchwhy in the root and return what it printed; `first` bytes of it are whole."""
    environment = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    process = await anyio.open_process(
        [sys.executable, "-m", "torchwhy", *words],
        cwd=root,
        env={**environment, "NO_COLOR": "1", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    kept = Kept(first)
    in_time = False
    try:
        with anyio.move_on_after(limit_seconds):
            await _follow(process, kept)
            in_time = True
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process, kept)
    return Ended(kept.text, process.returncode if in_time else None, kept.left_out)


async def _follow(process: Process, kept: Kept) -> None:
    assert process.stdout is not None
    async for chunk in process.stdout:
        kept.add(chunk)
    await process.wait()


async def _end(process: Process, kept: Kept) -> None:
    """End a process that still runs, by its supervisor if that obeys, and all that it has started."""
    if process.returncode is None:
        process.terminate()
        with anyio.move_on_after(GRACE_SECONDS):
            await _follow(process, kept)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    await process.aclose()
