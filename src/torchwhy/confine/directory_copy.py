"""A copy of the program's directory for kernels without layers, at the same depth below a folder of its own.

A file is cloned where the file system can, and copied if it is small. A large one is linked, unless the program's
first run has changed it: then it is left out. A guard keeps the program from writing through links.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from torchwhy.plain_data import dataclass

MOST_ENTRIES = 20_000  # Files and folders; deeper folders are linked as a whole after that.
LARGEST_FILE = 50_000_000  # Files with more bytes are linked.
MOST_BYTES = 300_000_000  # About a second of copying; the rest is linked.
LARGEST_CHANGED = 1_000_000_000  # A file that the first run changed may not be linked.
NEIGHBOUR_ENTRIES = (
    2_000  # For all folders beside the program's directory, which it reaches by `../`.
)
NEIGHBOUR_BYTES = 50_000_000
LEFT_OUT = {".git", ".hg", ".torchwhy", "__pycache__", ".mypy_cache", ".pytest_cache"}
LINKED = {".venv", "venv", "env", "node_modules", "site-packages"}
CLONE = 0x40049409  # the request FICLONE of Linux: copy on write


@dataclass
class DirectoryCopy:
    """Copies below `into`; `without` are paths to leave out, `since` is when the first run began."""

    into: Path
    without: Collection[Path] = ()
    since: float = float("inf")
    entries: int = MOST_ENTRIES
    bytes_left: int = MOST_BYTES
    left_out: list[Path] = field(default_factory=list)

    def copy(self, directories: Sequence[Path]) -> dict[Path, Path]:
        """Copy directories and their neighbours; return where the copy of each is."""
        goals = {directory: self.place_of(directory) for directory in directories}
        for directory, goal in goals.items():
            goal.mkdir(parents=True, exist_ok=True)
            self._copy_folder(directory, goal)
        self.entries = min(self.entries, NEIGHBOUR_ENTRIES)
        self.bytes_left = min(self.bytes_left, NEIGHBOUR_BYTES)
        for directory in goals:
            self._surround(directory)
        return goals

    def place_of(self, path: Path) -> Path:
        """Return the path in the copy."""
        return self.into / path.relative_to(path.anchor)

    def _surround(self, directory: Path) -> None:
        """Copy what lies beside the directory, and link what lies beside the folders around it."""
        for level, folder in enumerate(directory.parents):
            for entry in _entries(folder):
                path = Path(entry.path)
                goal = self.place_of(path)
                if os.path.lexists(goal) or path == self.into or path in self.without:
                    continue
                if level == 0:
                    self._copy_entry(entry, goal)
                elif folder != Path(folder.anchor):
                    _link(path, goal)

    def _copy_folder(self, folder: Path, goal: Path) -> None:
        waiting = [(folder, goal)]
        seen = {os.path.realpath(folder)}
        for source, into in waiting:
            for entry in _entries(source):
                self.entries -= 1
                if entry.name in LEFT_OUT or Path(entry.path) in self.without:
                    continue
                real = os.path.realpath(entry.path)
                is_folder = os.path.isdir(real) and entry.name not in LINKED
                if is_folder and self.entries > 0 and real not in seen and Path(real) != self.into:
                    seen.add(real)
                    (into / entry.name).mkdir()
                    waiting.append((Path(entry.path), into / entry.name))
                elif os.path.isdir(real):
                    _link(Path(real), into / entry.name)
                else:
                    self._copy_file(Path(entry.path), into / entry.name)

    def _copy_entry(self, entry: os.DirEntry[str], goal: Path) -> None:
        path = Path(entry.path)
        if not entry.is_dir():
            self._copy_file(path, goal)
        elif self.entries > 0 and entry.name not in LINKED | LEFT_OUT and self._is_small(path):
            goal.mkdir()
            self._copy_folder(path, goal)
        else:
            _link(path, goal)

    def _is_small(self, folder: Path) -> bool:
        count = 0
        for _, folders, files in os.walk(folder):
            count += len(folders) + len(files)
            if count > self.entries:
                return False
        return True

    def _copy_file(self, path: Path, goal: Path) -> None:
        try:
            facts = path.stat()
        except OSError:  # A link to nothing, or a file that vanished.
            with suppress(OSError):
                goal.symlink_to(os.readlink(path))
            return
        if not path.is_file():
            _link(path, goal)  # A pipe, a socket or a device.
        elif _clone(path, goal):
            return
        elif facts.st_size <= min(self.bytes_left, LARGEST_FILE):
            self.bytes_left -= facts.st_size
            _copy_bytes(path, goal)
        elif facts.st_mtime < self.since and facts.st_ctime < self.since:
            _link(path, goal)
        elif facts.st_size <= LARGEST_CHANGED:
            _copy_bytes(path, goal)
        else:
            self.left_out.append(path)


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        yield from entries


def _clone(path: Path, goal: Path) -> bool:
    """Share the blocks of a file copy-on-write; False if the file system cannot."""
    if sys.platform != "linux":
        return False
    import fcntl

    try:
        with path.open("rb") as source, goal.open("xb") as copied:
            fcntl.ioctl(copied, CLONE, source.fileno())
        shutil.copystat(path, goal)
        return True
    except OSError:
        goal.unlink(missing_ok=True)
        return False


def _copy_bytes(path: Path, goal: Path) -> None:
    with suppress(PermissionError):  # Unreadable for the program, too.
        shutil.copy2(path, goal)


def _link(path: Path, goal: Path) -> None:
    with suppress(OSError):
        goal.symlink_to(path.resolve())


def moved_command(command: Sequence[str], copied: Mapping[Path, Path]) -> tuple[str, ...]:
    """Return a command with its absolute paths into copied directories moved to the copies."""
    return tuple(os.fspath(moved_path(Path(word), copied) or word) for word in command)


def moved_path(path: Path, copied: Mapping[Path, Path]) -> Path | None:
    """Return where an absolute path is in the copies."""
    for directory, copy in copied.items():
        if path.is_absolute() and path.is_relative_to(directory):
            return copy / path.relative_to(directory)
    return None
