"""Writes the text of the program's own files into the trace, where all that is said about it comes from later.

A file is read when training is under way and at the end of the program: an import may come late, and a program
that is killed leaves the text of what ran before.
"""

from __future__ import annotations

from collections.abc import Callable

from torchwhy.observe.program.user_modules import user_files
from torchwhy.record.events import Event, ProgramFile
from torchwhy.source.files import fingerprint_of, loaded

MOST_CHARACTERS = 4_000_000  # of all files; a hundred thousand lines


class ProgramFiles:
    """Knows which files the trace has already."""

    def __init__(self, write: Callable[[Event], None]) -> None:
        self._write = write
        self._known: set[str] = set()
        self._left = MOST_CHARACTERS

    def tell(self) -> None:
        """Write the files that were loaded since the last time; what does not fit any more is left out."""
        for filename in user_files():
            if filename in self._known:
                continue
            self._known.add(filename)
            source = loaded(filename)
            if source is None or len(source.text) > self._left:
                continue
            self._left -= len(source.text)
            fingerprint = fingerprint_of(filename, source.text)
            self._write(ProgramFile(file=source.file, sha256=fingerprint, text=source.text))
