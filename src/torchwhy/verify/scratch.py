"""A copy of the program's directory for one trial, so that the program does not overwrite the user's files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MOST_ENTRIES = 20_000  # A home directory has more files and folders, a project has fewer.
MOST_IN_A_FOLDER = 2_000  # A folder with more entries is a dataset and is linked.
LARGEST_FILE = 50_000_000  # Files with more bytes are linked.
MOST_BYTES = 300_000_000  # About a second of copying; the rest is linked.
LEFT_OUT = {".git", ".hg", ".torchwhy", "__pycache__", ".mypy_cache", ".pytest_cache"}
LINKED = {".venv", "venv", "env", "node_modules", "site-packages"}
NEEDS_MORE = (
    "FileNotFoundError",
    "ModuleNotFoundError",
    "ImportError",
    "NotADirectoryError",
    "PermissionError",
)


@dataclass(frozen=True)
class Copied:
    """A copied directory; `links` counts the files and folders that are only linked."""

    directory: Path
    links: int = 0


def reason_against(command: Sequence[str], directory: Path) -> str | None:
    """Return why the program cannot run in a copy of its directory; None if it can."""
    for word in command:
        if ".." in Path(word.partition("=")[2] or word).parts:
            return f"its command reaches out of its directory ({word})"
    for word in command:
        path = directory / word
        if word.endswith(".py") and path.is_file() and _reaches_out(path):
            return f"{word} refers to files by `../`"
    entries = 0
    for _, folders, files in os.walk(directory):
        folders[:] = [one for one in folders if one not in LEFT_OUT | LINKED]
        entries += len(folders) + (len(files) if len(files) <= MOST_IN_A_FOLDER else 1)
        if entries > MOST_ENTRIES:
            return "its directory has too many files to copy"
    return None


def _reaches_out(path: Path) -> bool:
    text = path.read_text(encoding="utf8", errors="replace")
    return '"../' in text or "'../" in text


def copy(directory: Path, into: Path) -> Copied:
    """Copy a directory; datasets and very large files are linked, because programs only read them."""
    left, links = MOST_BYTES, 0
    for folder, folders, files in os.walk(directory):
        goal = into / os.path.relpath(folder, directory)
        goal.mkdir(parents=True, exist_ok=True)
        linked = [one for one in folders if one in LINKED or _is_large(Path(folder, one))]
        links += sum(_link(Path(folder, one), goal / one) for one in linked)
        folders[:] = [one for one in folders if one not in LEFT_OUT and one not in linked]
        for name in files:
            path = Path(folder, name)
            size = path.lstat().st_size
            if path.is_symlink() or not path.is_file() or size > min(left, LARGEST_FILE):
                links += _link(path, goal / name)
            else:
                left -= size
                shutil.copy2(path, goal / name)
    return Copied(into, links)


def _is_large(folder: Path) -> bool:
    """Tell whether to link a folder: it is a link itself, has very many entries, or cannot be read."""
    if folder.is_symlink():
        return True
    try:
        with os.scandir(folder) as entries:
            return sum(1 for _ in entries) > MOST_IN_A_FOLDER
    except OSError:
        return True


def _link(path: Path, goal: Path) -> int:
    goal.symlink_to(path.resolve())
    return 1


def moved_command(command: Sequence[str], directory: Path, copied: Path) -> tuple[str, ...]:
    """Return a command with its absolute paths into the directory moved to the copy."""
    return tuple(
        os.fspath(copied / Path(word).relative_to(directory))
        if Path(word).is_absolute() and Path(word).is_relative_to(directory)
        else word
        for word in command
    )


def moved(texts: Mapping[Path, str], directory: Path, copied: Path) -> dict[Path, str]:
    """Return edited texts by their paths in the copy, and by their original ones for imports from there."""
    everywhere = dict(texts)
    for path, text in texts.items():
        if path.is_relative_to(directory):
            everywhere[copied / path.relative_to(directory)] = text
    return everywhere
