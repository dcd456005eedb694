"""Landlock: the kernel refuses this process and its children to change files, but for the folders named."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from contextlib import suppress

from torchwhy.confine.system_calls import PR_SET_NO_NEW_PRIVS, prctl, syscall

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION = 1
PATH_BENEATH = 1
WRITE_FILE = 1 << 1
CHANGE_ENTRIES = sum(1 << bit for bit in (*range(4, 13),))  # remove and make entries of all kinds
REFER = 1 << 13  # rename and link between folders, since version 2
TRUNCATE = 1 << 14  # since version 3


class _Ruleset(ctypes.Structure):
    _fields_ = (("handled_access_fs", ctypes.c_uint64),)


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def restrict(writable: Sequence[str], devices: Sequence[str] = ("/dev", "/proc")) -> None:
    """Refuse every change of files from now on, except below `writable`; files of `devices` can be written."""
    version = syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(ASK_VERSION))
    truncate = TRUNCATE if version >= 3 else 0
    handled = WRITE_FILE | CHANGE_ENTRIES | truncate | (REFER if version >= 2 else 0)
    ruleset = _Ruleset(handled)
    size = ctypes.c_size_t(ctypes.sizeof(ruleset))
    rules = syscall(CREATE_RULESET, ctypes.byref(ruleset), size, ctypes.c_uint32(0))
    # Shared memory of worker processes has its place here.
    for path in (*writable, "/dev/shm"):  # noqa: S108
        _allow(rules, path, handled)
    for path in devices:
        _allow(rules, path, WRITE_FILE | truncate)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    syscall(RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0))
    os.close(rules)


def _allow(rules: int, path: str, access: int) -> None:
    with suppress(FileNotFoundError):
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = _PathBeneath(access, folder)
        arguments = (ctypes.c_int(PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0))
        syscall(ADD_RULE, ctypes.c_int(rules), *arguments)
        os.close(folder)
