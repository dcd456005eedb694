"""The steps of a run, one line each at first, of a long run every n-th; the newest ones all in a ring beside the trace.

The ring is memory shared with a file: what was put there survives SIGKILL without a call into the system. Lines are
made of it a few dozen at a time. A run of a million steps so has some fifteen thousand lines, and its last thousand
steps are there one by one, however it ends.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from torchwhy.record.events import Step
from torchwhy.record.numbers import encode
from torchwhy.record.writer import TraceWriter

ALL_BEFORE = (
    2000  # steps of which each gets a line; then one in two, from twice as many on one in three …
)
SLOTS = 1024  # newest steps kept whole
LINES_AT_ONCE = 64  # steps after which lines are written
UNUSUAL = 2.0  # a loss so many times the average of late gets a line of its own: a spike must not be thinned away
SMOOTHING = 0.02  # of that average: about the last fifty steps

_SLOT = struct.Struct(
    "<qqdd"
)  # step + 1, optimizer, loss, milliseconds; a step of 0 marks an empty slot
_SIZE = _SLOT.size
_pack_into = _SLOT.pack_into


class StepLog:
    """Writes quiet steps, of which nothing is known but one loss and the time."""

    def __init__(self, writer: TraceWriter, failed: Callable[[OSError], None]) -> None:
        self._writer = writer
        self._failed = failed
        self._memory: mmap.mmap | bytearray | None = None
        self._waiting: list[int] = []  # steps in the ring that have no line yet, thinned or not
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
        """Write the lines of the steps that wait for theirs."""
        waiting, self._waiting = self._waiting, []
        if not waiting or self._memory is None:
            return
        try:
            self._writer.append(b"".join(self._lines(waiting)))
        except OSError as problem:
            self._failed(problem)

    def close(self) -> None:
        """Write what waits; a ring whose steps all have lines is taken away."""
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
        """Return memory for the ring: of a file, or where that cannot be had just memory, which dies with us."""
        size = SLOTS * _SIZE
        if self._writer.path is None:
            return bytearray(size)
        try:
            # Written, not only made longer: then the disk has room for it, and touching the memory cannot fail.
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
    """Return the file beside a trace that holds its newest steps."""
    return trace.with_suffix(".recent")


def recent_steps(trace: Path) -> list[Step]:
    """Return the steps in the ring of a trace, oldest first; none if it has no ring."""
    try:
        content = ring_of(trace).read_bytes()
    except OSError:
        return []
    whole = len(content) - len(content) % _SIZE
    slots = sorted(slot for slot in _SLOT.iter_unpack(content[:whole]) if slot[0] > 0)
    return [
        Step(
            step=number - 1,
            optimizer=optimizer,
            losses=[encode(loss)],
            milliseconds=round(milliseconds, 3),
        )
        for number, optimizer, loss, milliseconds in slots
    ]
