"""Which files the first run made: a repeated run must not find its checkpoints and resume from them."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

CREATED_FILE = "created.json"  # In the run directory.
MOST_ENTRIES = 5_000  # About ten milliseconds.
SKIPPED = {".git", ".hg", ".torchwhy", "__pycache__", ".venv", "venv", "node_modules"}


def names_below(directory: Path) -> dict[str, set[str]]:
    """Return the names in each folder, the uppermost folders first; large trees are listed in part."""
    listed: dict[str, set[str]] = {}
    waiting, left = deque([""]), MOST_ENTRIES
    while waiting and left > 0:
        inner = waiting.popleft()
        with suppress(OSError):
            names, folders = _names_in(directory / inner)
            left -= len(names)
            if left < 0:
                break
            listed[inner] = names
            waiting.extend(os.path.join(inner, name) for name in folders if name not in SKIPPED)
    return listed


def _names_in(folder: Path) -> tuple[set[str], list[str]]:
    names, folders = set(), []
    with os.scandir(folder) as entries:
        for entry in entries:
            names.add(entry.name)
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            if len(names) > MOST_ENTRIES:
                break
    return names, folders


def note_created(run_directory: Path, directory: Path, before: dict[str, set[str]]) -> None:
    """Store the names below `directory` that are new since `before`."""
    after = names_below(directory)
    created = [
        os.path.join(inner, name)
        for inner, names in after.items()
        if inner in before
        for name in sorted(names - before[inner])
        if name not in SKIPPED
    ]
    with suppress(OSError):
        (run_directory / CREATED_FILE).write_text(json.dumps(created), encoding="utf8")


def created(run_directory: Path, directory: Path) -> Iterator[Path]:
    """Yield the files and folders that the first run made and that are still there."""
    names: list[str] = []
    with suppress(OSError, ValueError):
        names = json.loads((run_directory / CREATED_FILE).read_bytes())
    for name in names:
        path = directory / name
        if isinstance(name, str) and ".." not in Path(name).parts and os.path.lexists(path):
            yield path
