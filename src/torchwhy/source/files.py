"""The program's files: their text as it runs, and how findings call them."""

from __future__ import annotations

import hashlib
import linecache
import os
from functools import lru_cache
from importlib.util import decode_source
from pathlib import Path

from torchwhy.source.edits import Source

_start_directory = str(Path.cwd())


@lru_cache(maxsize=4096)
def shown_path(filename: str) -> str:
    """Return a path relative to the directory the program was started in, where it lies inside."""
    if filename.startswith("<"):
        return filename
    absolute = os.path.normpath(os.path.join(_start_directory, filename))  # noqa: PTH118 - five times as fast
    relative = os.path.relpath(absolute, _start_directory)
    return absolute if relative.startswith("..") else relative


def restart_in(directory: str) -> None:
    """Make `directory` the one paths are shown relative to."""
    global _start_directory  # noqa: PLW0603 - set once per program
    _start_directory = directory
    shown_path.cache_clear()
    loaded.cache_clear()


@lru_cache(maxsize=256)
def loaded(filename: str) -> Source | None:
    """Return a file of the running program, or a cell of a notebook; None if it has no text."""
    lines = linecache.getlines(filename)
    return Source(shown_path(filename), "".join(lines)) if lines else None


def fingerprint_of(filename: str, text: str) -> str:
    """Return the fingerprint of a file on disk that holds this text; where it holds another by now, of the text."""
    try:
        content = Path(filename).read_bytes()
        if decode_source(content) == text:
            return digest(content)
    except (OSError, SyntaxError, ValueError):
        pass  # a cell, a file in an archive, or one that was removed
    return digest(text.encode())


def digest(content: bytes) -> str:
    """Return the fingerprint of a file's content."""
    return hashlib.sha256(content).hexdigest()
