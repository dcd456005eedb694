"""Folders for what a repeated run writes; they go when it has ended, or when a later run finds them left behind."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from torchwhy.observe.ending_signals import ending

PREFIX = "torchwhy-scratch-"
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108
STALE_SECONDS = 86_400.0


@contextmanager
def scratch_folders(*near: Path) -> Iterator[list[Path]]:
    """Make a folder in each place that may hold layers: on disks first, those with most space before others."""
    places = [*near, Path("/var/tmp"), Path(tempfile.gettempdir()), SHARED_MEMORY]  # noqa: S108
    made: list[Path] = []

    def remove() -> None:
        for folder in made:
            remove_tree(folder)

    ending.cleanups.append(remove)
    try:
        for place in sorted(dict.fromkeys(places), key=_preference):
            _remove_stale(place)
            with suppress(OSError):
                made.append(Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=place)))
        yield made
    finally:
        remove()
        ending.cleanups.remove(remove)


def _preference(place: Path) -> tuple[bool, int]:
    try:
        space = os.statvfs(place)
    except OSError:
        return True, 0
    return _is_memory(place), -space.f_bavail * space.f_frsize


def _is_memory(place: Path) -> bool:
    """Tell whether what is written there stays in memory."""
    best, kind = "", ""
    with suppress(OSError):
        for line in Path("/proc/self/mounts").read_text("utf8", "replace").splitlines():
            _, point, of_kind, *_ = line.split(" ")
            inside = point == "/" or place == Path(point) or Path(point) in place.parents
            if inside and len(point) >= len(best):
                best, kind = point, of_kind
    return kind in ("tmpfs", "ramfs")


def _remove_stale(place: Path) -> None:
    """Remove folders whose process was killed before it could."""
    with suppress(OSError):
        for folder in place.glob(f"{PREFIX}*"):
            process = folder.name.removeprefix(PREFIX).partition("-")[0]
            facts = folder.lstat()
            is_ours = facts.st_uid == os.geteuid() and process.isdecimal()
            if is_ours and time.time() - facts.st_mtime > STALE_SECONDS and not _lives(process):
                remove_tree(folder)


def _lives(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def remove_tree(folder: Path) -> None:
    """Remove a folder; the kernel leaves folders without any permission in a layer."""
    waiting = [folder]
    while waiting:
        with suppress(OSError):
            inner = waiting.pop()
            inner.chmod(0o700)
            with os.scandir(inner) as entries:
                waiting += [Path(one.path) for one in entries if one.is_dir(follow_symlinks=False)]
    shutil.rmtree(folder, ignore_errors=True)
