"""The files of a run directory, which may come from a stranger: bounded reads, replaced files, and the seal.

The seal tells whether a run was recorded here by this user. It is a file that is written once when the run starts;
`run.json` holds its inode and the nanosecond of its last change. A copy, a checkout or an archive gets others, and no
archive can choose them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from torchwhy.errors import TraceError
from torchwhy.plain_data import dataclass

SEAL_FILE = "recorded-here"
LARGEST_JSON = 64_000_000  # The largest report.json of the test programs has 60 kB.
LARGEST_TRACE = 256_000_000  # A million steps take two megabytes, the program's text at most four.
LARGEST_NOTE = 1_000_000
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OPEN_SAFELY = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True)
class Seal:
    """Which file the seal was when it was made."""

    inode: int
    changed_ns: int


def read_bounded(path: Path, most: int) -> bytes:
    """Return the content of a regular file of at most `most` bytes; raise `TraceError` for anything else.

    `FileNotFoundError` is left to the caller. A FIFO or a device is not waited for, a link is not followed.
    """
    try:
        descriptor = os.open(path, _OPEN_SAFELY)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as problem:
        raise _unreadable(path, _reason(path, problem)) from problem
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise _unreadable(path, "it is not a regular file")
        if facts.st_size > most:
            raise _unreadable(path, f"it has {facts.st_size} bytes, and torchwhy reads {most}")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            content = file.read(most + 1)
    except OSError as problem:
        raise _unreadable(path, _reason(path, problem)) from problem
    finally:
        os.close(descriptor)
    if len(content) > most:
        raise _unreadable(path, f"it has more than {most} bytes")
    return content


def read_json(path: Path, most: int = LARGEST_JSON) -> Any:
    """Return the data in a JSON file of a run directory; raise `TraceError` if it holds none."""
    content = read_bounded(path, most)
    try:
        return json.loads(content, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as problem:
        raise _unreadable(path, f"it is not JSON ({problem})") from problem


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is no finite number")
    return number


def read_note(path: Path) -> str | None:
    """Return the text of a small file that explains something; None if there is none."""
    try:
        return read_bounded(path, LARGEST_NOTE).decode(errors="replace")
    except (FileNotFoundError, TraceError):
        return None


def _unreadable(path: Path, why: str) -> TraceError:
    return TraceError(f"{path} cannot be read: {why}.", slug="unreadable-trace")


def _reason(path: Path, problem: OSError | ValueError) -> str:
    if path.is_symlink():
        return "it is a link, and torchwhy follows none in a run directory"
    return getattr(problem, "strerror", None) or str(problem)


def replace_file(path: Path, text: str) -> None:
    """Write a file of a run directory as a whole; a link at its place is replaced, not followed."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf8") as file:
            file.write(text)
        Path(name).replace(path)
    finally:
        with suppress(OSError):
            Path(name).unlink()


def make_seal(run_directory: Path, command: Sequence[str], directory: str) -> Seal:
    """Seal a run that starts here and now."""
    path = run_directory / SEAL_FILE
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf8") as file:
        file.write(_digest(command, directory) + "\n")
    facts = path.stat()
    return Seal(facts.st_ino, facts.st_ctime_ns)


def is_recorded_here(
    run_directory: Path, command: Sequence[str], directory: str, seal: Seal | None
) -> bool:
    """Tell whether this user recorded the run in this place, and nobody else can have changed it."""
    if seal is None:
        return False
    try:
        folder = run_directory.stat()
        facts = (run_directory / SEAL_FILE).lstat()
        content = read_bounded(run_directory / SEAL_FILE, LARGEST_NOTE).decode(errors="replace")
    except (OSError, TraceError):
        return False
    return (
        _is_ours(folder)
        and _is_ours(facts)
        and (facts.st_ino, facts.st_ctime_ns) == (seal.inode, seal.changed_ns)
        and content.strip() == _digest(command, directory)
    )


def _is_ours(facts: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):
        return True
    return facts.st_uid == os.geteuid() and not facts.st_mode & OTHERS_MAY_WRITE


def _digest(command: Sequence[str], directory: str) -> str:
    return hashlib.sha256(json.dumps([list(command), directory]).encode()).hexdigest()
