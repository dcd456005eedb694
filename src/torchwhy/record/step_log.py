"""The steps of a run: one line each at first, later every n-th; a ring beside the trace holds all of the newest.

The ring is memory mapped to a file, so its content survives SIGKILL without a system call per step. Every few dozen
steps it is turned into lines. A run of a million steps has about fifteen thousand lines, and its last thousand steps
are complete, however it ends.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from torchwhy.errors import TraceError
from torchwhy.record.events import Step
from torchwhy.record.numbers import encode
from torchwhy.record.run_folder import read_bounded
from torchwhy.record.writer import TraceWriter

ALL_BEFORE = (
    2000  # Each of the first 2000 steps gets a line; then one in two, from 4000 on one in three …
)
SLOTS = 1024  # The ring holds this many of the newest steps.
LINES_AT_ONCE = 64  # The ring is turned into lines after this many steps.
UNUSUAL = (
    2.0  # A loss this many times the recent average always gets a line, so that no spike is lost.
)
TORN_SLOTS = 1  # A kill may interrupt the writing of one slot.
MOST_OPTIMIZERS = 1_000_000
LONGEST_STEP = 1e11  # milliseconds: three years
SMOOTHING = 0.02  # The recent average covers about the last fifty steps.

# A slot holds step + 1, optimizer, loss and milliseconds; one that starts with 0 is empty.
_SLOT = struct.Struct("<qqdd")
_SIZE = _SLOT.size
_pack_into = _SLOT.pack_into


class StepLog:
    """Writes quiet steps, which have only one loss and a time."""

    def __init__(self, writer: TraceWriter, failed: Callable[[OSError], None]) -> None:
        self._writer = writer
        self._failed = failed
        self._memory: mmap.mmap | bytearray | None = None
        self._waiting: list[int] = []  # Steps that are in the ring only.
        self._next_line = 0
        self._average = 0.0
        writer.before_write = self.flush

    def add(self, step: int, optimizer: int, loss: float, milliseconds: float) -> None:
        """Put one step into the ring."""
        memory = self._memory
        if memory is None:
            memory = self._memory = self._open()
        _pack_into(memory, (step % SLOTS) * _SIZE, step + 1, optimizer, loss, milliseconds)
        waiting = self._waiting
        waiting.append(step)
        if len(waiting) >= LINES_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write the lines of the waiting steps."""
        waiting, self._waiting = self._waiting, []
        if not waiting or self._memory is None:
            return
        try:
            self._writer.append(b"".join(self._lines(waiting)))
        except OSError as problem:
            self._failed(problem)

    def close(self) -> None:
        """Write the waiting steps; delete the ring if all its steps have lines."""
        self.flush()
        memory, self._memory = self._memory, None
        if isinstance(memory, mmap.mmap):
            memory.close()
        if self._next_line <= ALL_BEFORE and self._writer.path is not None:
            with suppress(OSError):
                ring_of(self._writer.path).unlink(missing_ok=True)

    def _lines(self, steps: list[int]) -> Iterator[bytes]:
        assert self._memory is not None
        for step in steps:
            _, optimizer, loss, milliseconds = _SLOT.unpack_from(
                self._memory, (step % SLOTS) * _SIZE
            )
            size = abs(loss)
            unusual = size > UNUSUAL * self._average
            self._average += SMOOTHING * (size - self._average)
            if step >= self._next_line or unusual:
                self._next_line = step + 1 + step // ALL_BEFORE
                yield (
                    b'{"event":"step","step":%d,"optimizer":%d,"losses":[%.9g],"milliseconds":%.3f}\n'
                    % (step, optimizer, loss, milliseconds)
                )

    def _open(self) -> mmap.mmap | bytearray:
        """Return memory for the ring: mapped to a file if possible, else ordinary memory, which a kill loses."""
        size = SLOTS * _SIZE
        if self._writer.path is None:
            return bytearray(size)
        try:
            # Writing the bytes, instead of only extending the file, reserves the disk space; else a write to the
            # mapped memory could fail with SIGBUS.
            descriptor = os.open(
                ring_of(self._writer.path), os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644
            )
            try:
                if os.write(descriptor, bytes(size)) != size:
                    return bytearray(size)
                return mmap.mmap(descriptor, size)
            finally:
                os.close(descriptor)
        except (OSError, ValueError):
            return bytearray(size)


def ring_of(trace: Path) -> Path:
    """Return the path of the ring beside a trace."""
    return trace.with_suffix(".recent")


def recent_steps(trace: Path, last: int) -> tuple[list[Step], tuple[str, ...]]:
    """Return the steps in the ring of a trace, oldest first, and a sentence if it is damaged.

    `last` is the newest step that has a line. A slot holds only steps of its own place, and lines follow the ring at
    a known distance: anything else was not written by `StepLog`.
    """
    path = ring_of(trace)
    try:
        content = read_bounded(path, SLOTS * _SIZE)
    except FileNotFoundError:
        return [], ()
    except TraceError as problem:
        return [], (f"the newest steps are left out: {problem.message}",)
    whole = len(content) - len(content) % _SIZE
    slots = [slot for slot in enumerate(_SLOT.iter_unpack(content[:whole])) if slot[1][0]]
    newest = max((slot[0] - 1 for _, slot in slots), default=-1)
    fitting = [slot for place, slot in slots if _fits(place, slot, newest)]
    if len(fitting) < len(slots) - TORN_SLOTS or newest > last + SLOTS + last // ALL_BEFORE:
        return [], (f"the newest steps are left out: {path} holds no steps of this run.",)
    return [
        Step(
            step=number - 1,
            optimizer=optimizer,
            losses=[encode(loss)],
            milliseconds=round(milliseconds, 3),
        )
        for number, optimizer, loss, milliseconds in sorted(fitting)
    ], ()


def _fits(place: int, slot: tuple[int, int, float, float], newest: int) -> bool:
    number, optimizer, _, milliseconds = slot
    step = number - 1
    return (
        step % SLOTS == place
        and 0 <= step <= newest
        and 0 <= optimizer < MOST_OPTIMIZERS
        and 0 <= milliseconds < LONGEST_STEP
    )
