"""Keeps what the program reads from a pipe on standard input, so that a rerun can read the same.

The program's own reads are copied, no byte more is taken from the pipe: in a shell loop (`… | while read line; do
torchwhy run train.py; done`) the next command finds what the program left. A terminal is never touched.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from pathlib import Path

PIPE_NAME = "stdin.pipe"
FED_NAME = "stdin.fed"  # exists in the directory of a rerun, which reads what was kept
CUT_NAME = "stdin.cut"  # exists if more was read than is kept
MOST_BYTES = 2**26


def keep(run_directory: str) -> None:
    """Put a copying reader under `sys.stdin`, if that is an untouched pipe."""
    text = sys.stdin
    if type(text) is not io.TextIOWrapper or type(text.buffer) is not io.BufferedReader:
        return
    if type(text.buffer.raw) is not io.FileIO or text.fileno() != 0:
        return
    facts = os.fstat(0)
    if not (stat.S_ISFIFO(facts.st_mode) or stat.S_ISSOCK(facts.st_mode)):
        return
    if Path(run_directory, FED_NAME).exists():
        return
    raw = CopyingReader(run_directory)
    size = max(facts.st_blksize, 1) if hasattr(facts, "st_blksize") else io.DEFAULT_BUFFER_SIZE
    copying = io.TextIOWrapper(
        io.BufferedReader(raw, size),  # type: ignore[type-var]
        encoding=text.encoding,
        errors=text.errors,
        newline=None if os.name == "nt" else "\n",
        line_buffering=text.line_buffering,
    )
    copying.mode = "r"  # type: ignore[misc]
    sys.stdin = sys.__stdin__ = copying  # type: ignore[misc]


class CopyingReader(io.FileIO):
    """Reads descriptor 0 and appends what it read to a file of the run; a full disk ends the copy, not the program."""

    def __init__(self, run_directory: str) -> None:
        super().__init__(0, "rb", closefd=False)
        self.name = "<stdin>"
        self._directory = run_directory
        self._left = MOST_BYTES

    def readinto(self, buffer: bytearray) -> int | None:  # type: ignore[override]
        """Read into a buffer, as the buffered reader above does."""
        count = super().readinto(buffer)
        if count:
            self._copy(bytes(memoryview(buffer)[:count]))
        return count

    def readall(self) -> bytes:
        """Read to the end."""
        data = super().readall()
        self._copy(data or b"")
        return data

    def read(self, size: int | None = -1) -> bytes:
        """Read some bytes."""
        if size is None or size < 0:
            return self.readall()
        data = super().read(size)
        self._copy(data or b"")
        return data

    def _copy(self, data: bytes) -> None:
        if not data or self._left <= 0:
            return
        self._left -= len(data)
        name = PIPE_NAME if self._left >= 0 else CUT_NAME
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            kept = os.open(Path(self._directory, name), flags, 0o600)
            try:
                os.write(kept, data if self._left >= 0 else b"")
            finally:
                os.close(kept)
        except OSError:
            self._left = 0
