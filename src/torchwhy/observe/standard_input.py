"""What a program read from standard input: kept beside the trace, and fed to reruns and trials."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from torchwhy.observe.boot.kept_input import CUT_NAME, FED_NAME, MOST_BYTES, PIPE_NAME

FILE_NAME = "stdin.file"
LEVELS = 3  # folders between a trial's own directory and that of the run


@contextmanager
def file_kept(run_directory: Path | None) -> Iterator[None]:
    """Keep a file that is the program's standard input, if it reads from it; `boot.kept_input` keeps pipes."""
    began = _position()
    yield
    ended = _position()
    if run_directory is None or began is None or ended is None or ended == began:
        return
    _keep(run_directory, began)


def keep_file(run_directory: Path) -> None:
    """Keep a file that is our own standard input, for runs that are all out of sight."""
    began = _position()
    if began is not None:
        _keep(run_directory, began)


def _keep(run_directory: Path, began: int) -> None:
    with suppress(OSError):
        size = os.fstat(0).st_size
        if size - began > MOST_BYTES:
            (run_directory / CUT_NAME).touch()
            return
        with (run_directory / FILE_NAME).open("wb") as kept:
            while began < size:
                part = os.pread(0, 2**20, began)
                if not part:
                    break
                kept.write(part)
                began += len(part)


def _position() -> int | None:
    """Return how far standard input was read; None if it is no file."""
    try:
        return os.lseek(0, 0, os.SEEK_CUR) if stat.S_ISREG(os.fstat(0).st_mode) else None
    except OSError:
        return None


class KeptInput:
    """Standard input for a process that repeats a run: of the same kind, with the same bytes; else empty."""

    def __init__(self, run_directory: Path) -> None:
        folders = [run_directory, *run_directory.parents][: LEVELS + 1]
        self._piped = next(filter(Path.is_file, (one / PIPE_NAME for one in folders)), None)
        if self._piped is not None:
            (run_directory / FED_NAME).touch()
        saved = next(filter(Path.is_file, (one / FILE_NAME for one in folders)), None)
        self._file: IO[bytes] | None = None
        if saved is not None and self._piped is None:
            self._file = saved.open("rb")

    @property
    def stream(self) -> Any:
        """Return what to start the process with."""
        if self._file is not None:
            return self._file
        return subprocess.DEVNULL if self._piped is None else subprocess.PIPE

    def feed(self, child: subprocess.Popen[bytes]) -> None:
        """Write what was read from a pipe to the process, until it ends or has read all of it."""
        if self._file is not None:
            self._file.close()
        pipe, path = child.stdin, self._piped
        if pipe is None or path is None:
            return

        def write() -> None:
            with suppress(OSError, ValueError), pipe, path.open("rb") as kept:
                shutil.copyfileobj(kept, pipe)

        threading.Thread(target=write, daemon=True).start()
