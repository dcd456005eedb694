"""A mount namespace in which no write reaches a file of the user.

With `layers`, an overlay lies over every file system: the program sees all files under their own names, and what it
writes goes to a folder that is thrown away. With `read_only`, all file systems are read-only.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from torchwhy.confine.system_calls import (
    CLONE_NEWNS,
    CLONE_NEWUSER,
    MS_BIND,
    MS_PRIVATE,
    MS_REC,
    make_read_only,
    mount,
    unshare,
)
from torchwhy.plain_data import dataclass

# File systems that hold no files of the user.
OF_THE_KERNEL = {
    *("proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "mqueue", "debugfs", "tracefs"),
    *("securityfs", "bpf", "hugetlbfs", "pstore", "configfs", "fusectl", "binfmt_misc", "nsfs"),
    *("efivarfs", "autofs", "rpc_pipefs", "selinuxfs"),
}
KEPT = ("/proc", "/sys", "/dev", "/run")  # /run holds sockets, /dev devices: no layer over them.
SHARED_MEMORY = "/dev/shm"  # noqa: S108 (the place that POSIX shared memory has on Linux)
# Without `volatile` every layer is written to disk when it goes; older kernels know none of these words.
OVERLAY_OPTIONS = (",userxattr,volatile", ",userxattr", "")
MOST_ADOPTED = 300  # Folders of other owners that get a twin in a layer: a few milliseconds.
DEEPEST_ADOPTED = 3
OF_THE_SYSTEM = {"/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/boot"}


@dataclass(frozen=True)
class Mounted:
    """One line of mountinfo."""

    point: str
    kind: str
    read_only: bool


def enter() -> bool:
    """Give this process a mount namespace; without the right to it, inside a user namespace of its own.

    Return whether it is in a user namespace now.
    """
    user, group = os.geteuid(), os.getegid()
    is_inside = False
    try:
        unshare(CLONE_NEWNS)
    except PermissionError:
        is_inside = True
        unshare(CLONE_NEWUSER | CLONE_NEWNS)
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            Path("/proc/self", name).write_text(text, encoding="ascii")
    mount("", "/", flags=MS_REC | MS_PRIVATE)
    return is_inside


def mounts() -> list[Mounted]:
    """Return what is mounted; of several mounts at one point, the uppermost."""
    found = {}
    for line in Path("/proc/self/mountinfo").read_text("utf8", "surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        point = os.fsdecode(os.fsencode(fields[4]).decode("unicode_escape").encode("latin-1"))
        kind, options = after.split(" ")[0], f"{fields[5]},{after.split(' ')[-1]}"
        found[point] = Mounted(point, kind, "ro" in options.split(","))
    return sorted(found.values(), key=lambda one: one.point.count("/"))


def lies_in(path: str, folder: str) -> bool:
    """Tell whether a path is a folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def user_mounts(*, split: bool) -> list[Mounted]:
    """Return the file systems and uppermost folders that may hold files of the user, outermost first.

    In a user namespace the kernel lays nothing over a folder that has another mount below it. With `split`, the
    folders around that mount come one by one, and the folder itself is marked as read-only.
    """
    everything = mounts()
    points = {one.point for one in everything}
    mounted = [
        one
        for one in everything
        if one.kind not in OF_THE_KERNEL
        and one.point != "/"
        and not any(lies_in(one.point, kept) for kept in KEPT)
    ]
    folders = [Mounted(path, "folder", read_only=False) for path in _folders_in("/", points)]
    found = [one for one in (*folders, *mounted) if one.point not in KEPT]
    if not split:
        return found
    parts = [part for one in found for part in _split(one, points)]
    return sorted(parts, key=lambda one: one.point.count("/"))


def _split(one: Mounted, points: set[str]) -> Iterator[Mounted]:
    if one.read_only or not any(p != one.point and lies_in(p, one.point) for p in points):
        yield one
        return
    yield Mounted(one.point, one.kind, read_only=True)
    for path in _folders_in(one.point, points):
        yield from _split(Mounted(path, "folder", read_only=False), points)


def _folders_in(folder: str, points: set[str]) -> list[str]:
    with suppress(OSError), os.scandir(folder) as entries:
        return [
            entry.path
            for entry in entries
            if entry.is_dir(follow_symlinks=False) and entry.path not in points
        ]
    return []


class Layers:
    """Puts a writable layer over everything; `folders` are places for the layers."""

    def __init__(self, folders: Sequence[str], *, program: str, split: bool) -> None:
        self._folders = folders
        self._program = program
        self._split = split
        self._devices: set[int] = set()

    def lay(self, writable: Sequence[str]) -> None:
        """Cover all files of the user, but leave the `writable` folders as they are."""
        # Names of places change their meaning as layers are laid, handles do not.
        places = [(path, _handle(path)) for path in self._folders]
        targets = [
            (one, handle)
            for one in user_mounts(split=self._split)
            if (handle := _handle(one.point))
        ]
        through = [(path, _handle(path)) for path in writable]
        before = {os.stat(one.point).st_dev for one, _ in targets}
        for one, handle in targets:
            is_open = not one.read_only and os.path.isdir(handle)
            if not is_open or not self._cover(one.point, handle, places):
                _bind(handle, one.point)
        if os.stat(self._program).st_dev not in self._devices - before:
            raise OSError(f"no layer lies over {self._program}")
        _close_runtime_folder()
        _own_shared_memory()
        for path, handle in through:
            mount(handle, path, flags=MS_BIND)
        make_read_only("/")
        os.chdir(self._program)

    def _cover(self, point: str, handle: str, places: Sequence[tuple[str, str]]) -> bool:
        for path, place in places:
            # The kernel refuses a layer that lies inside the files it is laid over.
            if place and not lies_in(path, point):
                with suppress(OSError):
                    _overlay(handle, point, tempfile.mkdtemp(dir=place))
                    self._devices.add(os.stat(point).st_dev)
                    return True
        return False

    def hide(self, paths: Sequence[str]) -> None:
        """Remove files from the layers, and only from them: files that the program's first run made."""
        for path in paths:
            parent, name = os.path.split(path)
            with suppress(OSError):
                folder = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
                if os.fstat(folder).st_dev not in self._devices:
                    continue
                if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                    shutil.rmtree(path)
                else:
                    os.unlink(name, dir_fd=folder)


def close_everything(writable: Sequence[str]) -> None:
    """Make all file systems read-only but for the `writable` folders."""
    through = [(path, _handle(path)) for path in writable]
    for path, handle in through:
        mount(handle, path, flags=MS_BIND)
    kept = {path for path, _ in through}
    for one in mounts():
        is_users = one.kind not in OF_THE_KERNEL and one.point not in kept
        if is_users and not one.read_only and not lies_in(one.point, "/dev"):
            make_read_only(one.point)
    _own_shared_memory()


def _handle(path: str) -> str:
    """Return a name that stays with what is at `path` now; an empty one if it cannot be reached."""
    try:
        return f"/proc/self/fd/{os.open(path, os.O_PATH)}"
    except OSError:
        return ""


def _bind(handle: str, point: str) -> None:
    """Show at `point` what the handle stands for, read-only."""
    mount(handle, point, flags=MS_BIND | MS_REC)
    make_read_only(point)


def _overlay(lower: str, point: str, own: str) -> None:
    """Lay an overlay over `point`; its root has the mode of the folder below, and its owner if possible."""
    upper, work = os.path.join(own, "upper"), os.path.join(own, "work")
    os.mkdir(upper)
    os.mkdir(work)
    facts = os.stat(lower)
    with suppress(OSError):
        os.chown(upper, facts.st_uid, facts.st_gid)
    os.chmod(upper, stat.S_IMODE(facts.st_mode))
    if point not in OF_THE_SYSTEM:
        _adopt(lower, upper)
    places = [_handle(upper), _handle(work)]
    data = f"lowerdir={lower},upperdir={places[0]},workdir={places[1]}"
    for options in OVERLAY_OPTIONS:
        try:
            mount("overlay", point, "overlay", data=data + options)
            return
        except OSError as problem:
            refused = problem
    raise refused


def _adopt(lower: str, upper: str) -> None:
    """Make twins in the layer of folders that other users own: the kernel cannot copy them up for this user."""
    if os.geteuid() == 0:
        return
    waiting = [("", 1)]
    adopted = 0
    for inner, depth in waiting:
        for name in _foreign_folders(os.path.join(lower, inner)):
            if adopted >= MOST_ADOPTED:
                return
            adopted += 1
            twin = os.path.join(upper, inner, name)
            os.mkdir(twin)
            os.chmod(twin, stat.S_IMODE(os.stat(os.path.join(lower, inner, name)).st_mode) | 0o700)
            if depth < DEEPEST_ADOPTED:
                waiting.append((os.path.join(inner, name), depth + 1))


def _foreign_folders(folder: str) -> Iterator[str]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and os.access(entry.path, os.X_OK):
                owner = entry.stat(follow_symlinks=False)
                if (owner.st_uid, owner.st_gid) != (os.geteuid(), os.getegid()):
                    yield entry.name


def _close_runtime_folder() -> None:
    if os.path.isdir("/run") and not os.path.islink("/run"):
        handle = _handle("/run")
        mount(handle, "/run", flags=MS_BIND | MS_REC)
        make_read_only("/run")


def _own_shared_memory() -> None:
    """Mount an own memory file system; what is in the user's can be read there, and not written."""
    if not os.path.isdir(SHARED_MEMORY) or os.path.islink(SHARED_MEMORY):
        return
    below = _handle(SHARED_MEMORY)
    names = os.listdir(SHARED_MEMORY)
    mount("tmpfs", SHARED_MEMORY, "tmpfs", data="mode=1777")
    for name in names:
        source, goal = os.path.join(below, name), os.path.join(SHARED_MEMORY, name)
        with suppress(OSError):
            if os.path.isdir(source):
                os.mkdir(goal)
            else:
                Path(goal).touch()
            _bind(source, goal)
