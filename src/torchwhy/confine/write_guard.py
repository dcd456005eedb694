"""In a repeated run outside of layers: Python refuses to change files outside the folders of the run.

An audit hook sees what Python itself opens, removes and renames. What C++ opens (`torch.save`) is asked for by name.
A refused path is noted, so that the report can tell why the run could not be repeated.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from torchwhy.confine.plan import GUARD_FILE, REFUSED_FILE

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# The events that change a file, with the positions of its path and of the descriptor that the path is relative to.
CHANGES: dict[str, tuple[tuple[int, int | None], ...]] = {
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.mkdir": ((0, 2),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.utime": ((0, 3),),
    "os.setxattr": ((0, None),),
    "os.removexattr": ((0, None),),
    "os.chflags": ((0, None),),
    "shutil.rmtree": ((0, 1),),
    "sqlite3.connect": ((0, None),),
}
# These fail by themselves if there is nothing at the path; their exception is the program's to see.
NEED_A_FILE = {"os.remove", "os.rmdir", "os.rename", "os.chmod", "os.utime", "shutil.rmtree"}
DEVICES = ("/dev/", "/proc/")
SHARED_MEMORY = "/dev/shm/"  # noqa: S108


def install(run_directory: str) -> None:
    """Refuse changes outside the folders that `guard.json` names."""
    with open(os.path.join(run_directory, GUARD_FILE), encoding="utf8") as listed:
        guard = WriteGuard(json.load(listed), os.path.join(run_directory, REFUSED_FILE))
    sys.addaudithook(guard.hear)
    _installed.append(guard)


def watch_torch(torch: Any) -> None:
    """Ask before torch's C++ code opens a file to write it."""
    for guard in _installed:
        torch.save = guard.asked_first(torch.save)
        torch.jit.save = guard.asked_first(torch.jit.save)


class WriteGuard:
    """Knows the folders that may be written."""

    def __init__(self, writable: list[str], note: str) -> None:
        self._writable = tuple(os.path.realpath(path) + os.sep for path in writable)
        self._note = note
        self._noted: set[str] = set()

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Raise `PermissionError` if the event would change a file of the user."""
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & WRITING:
                self._ask(path, None, event)
        elif event in CHANGES:
            for place, relative_to in CHANGES[event]:
                folder = None if relative_to is None else arguments[relative_to]
                self._ask(arguments[place], folder, event)

    def asked_first(self, save: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function like `torch.save` that asks for its second argument."""

        @functools.wraps(save)
        def ask_and_save(*args: Any, **kwargs: Any) -> Any:
            self._ask(kwargs.get("f", args[1] if len(args) > 1 else None), None, "open")
            return save(*args, **kwargs)

        return ask_and_save

    def _ask(self, path: Any, folder: Any, event: str) -> None:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return  # A descriptor was asked for when it was opened.
        name = os.fsdecode(path)
        if event == "sqlite3.connect" and _is_harmless_database(name):
            return
        if isinstance(folder, int) and folder >= 0:
            name = os.path.join(f"/proc/self/fd/{folder}", name)
        keeps_last = event in ("os.remove", "os.rename", "os.symlink", "os.rmdir")
        real = _real_folder(name) if keeps_last else os.path.realpath(name)
        if self._may_write(real) or (event in NEED_A_FILE and not os.path.lexists(real)):
            return
        if event == "os.mkdir" and os.path.isdir(real):
            return  # It fails by itself, and `makedirs(exist_ok=True)` expects that.
        self._remember(real)
        raise PermissionError(
            errno.EACCES, "torchwhy does not let a repeated run change this file", name
        )

    def _may_write(self, path: str) -> bool:
        if path.startswith(DEVICES) and not path.startswith(SHARED_MEMORY):
            return True
        return (path + os.sep).startswith(self._writable)

    def _remember(self, path: str) -> None:
        if path not in self._noted:
            self._noted.add(path)
            descriptor = os.open(self._note, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.write(descriptor, os.fsencode(path) + b"\n")
            os.close(descriptor)


def _real_folder(name: str) -> str:
    """Return a path whose last part may be a link: removing a link leaves its target alone."""
    folder, last = os.path.split(os.path.abspath(name) if not os.path.isabs(name) else name)
    return os.path.join(os.path.realpath(folder), last)


def _is_harmless_database(name: str) -> bool:
    return name in ("", ":memory:") or (
        name.startswith("file:") and ("mode=ro" in name or "mode=memory" in name)
    )


_installed: list[WriteGuard] = []
