"""Keeps a repeated step from printing a second time what it printed the first time."""

from __future__ import annotations

import os
import sys


class MutedOutput:
    """Redirects the standard streams of the process, also for code in C."""

    def __init__(self) -> None:
        self._saved: list[tuple[int, int]] = []

    def begin(self) -> None:
        """Discard what is printed from now on."""
        if self._saved:
            return
        _flush()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for descriptor in (1, 2):
            self._saved.append((descriptor, os.dup(descriptor)))
            os.dup2(nowhere, descriptor)
        os.close(nowhere)

    def end(self) -> None:
        """Let the program print again."""
        if not self._saved:
            return
        _flush()
        for descriptor, copy in self._saved:
            os.dup2(copy, descriptor)
            os.close(copy)
        self._saved.clear()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
