"""The system calls of Linux that confine a process, called through ctypes."""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_RDONLY = 1
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MS_RELATIME = 1 << 21
# These flags have the same value in `statvfs` and in `mount`; MS_RELATIME has not.
SHARED_FLAGS = 2 | 4 | 8 | 1024 | 2048
ST_RELATIME = 4096
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def unshare(flags: int) -> None:
    """Give this process namespaces of its own."""
    _checked(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str = "", *, flags: int = 0, data: str = "") -> None:
    """Mount a file system, bind a directory or a file, or change the flags of a mount."""
    words = (os.fsencode(word) if word else None for word in (source, target, kind))
    result = _libc.mount(*words, ctypes.c_ulong(flags), os.fsencode(data) if data else None)
    _checked(result, f"mount {kind or 'bind'} at {target}")


def make_read_only(point: str) -> None:
    """Make one mount read-only and keep its other flags, which a user namespace may not clear."""
    kept = os.statvfs(point).f_flag
    flags = kept & SHARED_FLAGS | (MS_RELATIME if kept & ST_RELATIME else 0)
    mount("", point, flags=MS_REMOUNT | MS_BIND | MS_RDONLY | flags)


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process."""
    zero = ctypes.c_ulong(0)
    _checked(_libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero), "prctl")


def syscall(number: int, *arguments: object) -> int:
    """Make a system call that the C library has no function for."""
    return _checked(_libc.syscall(ctypes.c_long(number), *arguments), f"system call {number}")
