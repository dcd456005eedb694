"""Notices a changed file of the user after a run that only Python itself kept from writing."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

MOST_ENTRIES = 50_000  # About a third of a second.
SKIPPED = {".torchwhy", "__pycache__"}

Stamp = tuple[int, int, int, int]


def stamps(*directories: Path) -> dict[str, Stamp]:
    """Return size, times and number of every file below the directories."""
    found: dict[str, Stamp] = {}
    for directory in directories:
        for folder, folders, files in os.walk(directory):
            folders[:] = [name for name in folders if name not in SKIPPED]
            for name in files:
                with suppress(OSError):
                    path = os.path.join(folder, name)
                    facts = os.stat(path)
                    found[path] = (facts.st_size, facts.st_mtime_ns, facts.st_ino, facts.st_mode)
            if len(found) > MOST_ENTRIES:
                return found
    return found


def first_touched(before: dict[str, Stamp], after: dict[str, Stamp]) -> str | None:
    """Return a file that was changed, removed or made."""
    changed = [path for path in before if after.get(path) != before[path]]
    new = [] if len(before) > MOST_ENTRIES else [path for path in after if path not in before]
    return min((*changed, *new), default=None)
