"""`process-PID.calls`: the newest collectives of a process, in memory that is mapped to the file."""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

from torchwhy.errors import TraceError
from torchwhy.plain_data import dataclass
from torchwhy.record.run_folder import read_bounded

SLOTS = 64
SLOT_BYTES = 256
_HEAD = struct.Struct("<qqqq")  # rank, number of ranks, calls made, calls that returned
_SIZE = SLOT_BYTES * (SLOTS + 1)
_pack_into = _HEAD.pack_into


@dataclass(frozen=True)
class Call:
    """A call of a collective by all ranks; `number` counts them from 1, `elements` and `dtype` are those it gave."""

    number: int
    name: str
    file: str
    line: int
    elements: int | None = None
    dtype: str | None = None


@dataclass(frozen=True)
class Calls:
    """What a process has recorded of its collectives."""

    rank: int
    world_size: int
    made: int
    returned: int
    newest: tuple[Call, ...]


class CollectiveLog:
    """Writes the calls; `failed` disks raise at once, in the constructor."""

    def __init__(self, path: Path, rank: int, world_size: int) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            if os.write(descriptor, bytes(_SIZE)) != _SIZE:
                raise OSError("only a part of the file could be written")
            self._memory = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)
        self._place = (rank, world_size)
        self._made = self._returned = 0
        self._write_head()

    def begin(self, name: str, place: tuple[str, int], elements: int | None, dtype: str) -> None:
        """Note that a collective begins."""
        self._made += 1
        count = "" if elements is None else elements
        text = f"{self._made}\t{name}\t{count}\t{dtype}\t{place[1]}\t{place[0]}".encode()
        start = SLOT_BYTES * (1 + self._made % SLOTS)
        self._memory[start : start + SLOT_BYTES] = text[:SLOT_BYTES].ljust(SLOT_BYTES, b"\0")
        self._write_head()

    def end(self) -> None:
        """Note that the collective returned."""
        self._returned = self._made
        self._write_head()

    def _write_head(self) -> None:
        _pack_into(self._memory, 0, *self._place, self._made, self._returned)


def calls_file_of(run_directory: Path, pid: int) -> Path:
    """Return the path of the file of a process."""
    return run_directory / f"process-{pid}.calls"


def read_calls(path: Path) -> Calls | None:
    """Return the calls in a file, oldest first; None if there is none or it is not ours."""
    try:
        content = read_bounded(path, _SIZE)
    except (FileNotFoundError, TraceError):
        return None
    if len(content) != _SIZE:
        return None
    rank, world_size, made, returned = _HEAD.unpack_from(content)
    slots = (content[start : start + SLOT_BYTES] for start in range(SLOT_BYTES, _SIZE, SLOT_BYTES))
    calls = [call for slot in slots if (call := _call_in(slot)) is not None]
    newest = sorted((one for one in calls if one.number <= made), key=lambda one: one.number)
    return Calls(rank, world_size, made, returned, tuple(newest))


def _call_in(slot: bytes) -> Call | None:
    words = slot.rstrip(b"\0").decode(errors="replace").split("\t", 5)
    if len(words) != 6 or not (words[0].isdecimal() and words[4].isdecimal()):
        return None
    number, name, count, dtype, line, file = words
    elements = int(count) if count.isdecimal() else None
    return Call(int(number), name, file, int(line), elements, dtype or None)
