"""Asks the processes of a run for their stacks, and gathers what else is known of where they stand.

A signal goes only to a process that handles it and whose answer still goes into its own file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from torchwhy.errors import TraceError
from torchwhy.follow.hangs import process_facts
from torchwhy.observe.launch import records_into
from torchwhy.plain_data import dataclass
from torchwhy.record.run_folder import read_bounded
from torchwhy.record.standing.collective_log import calls_file_of, read_calls
from torchwhy.record.standing.stack_file import (
    FILE_NAME,
    LARGEST_STACKS,
    Asked,
    Frame,
    main_stack,
    parse_stacks,
    stack_file_of,
)
from torchwhy.record.standing.standstill import Standing, Worker

ANSWER_SECONDS = 3.0  # for the stacks of a process; a thousand frames take milliseconds
POLL_SECONDS = 0.05
MOST_WORKERS = 8  # of one process that are asked
BUSY_SHARE = 0.1  # of one core between two looks; a process that waits takes a hundredth of that

Frames = tuple[Frame, ...]


@dataclass(frozen=True)
class Known:
    """What the trace of a process says of it."""

    rank: int
    world_size: int
    last_step: int


@dataclass(frozen=True)
class _Look:
    frames: Frames
    workers: tuple[Worker, ...]
    processor_seconds: float
    lost_workers: int


def standing_processes(
    run_directory: Path,
    known: Mapping[int, Known],
    *,
    apart: Callable[[], object],
    users: Callable[[Frames], Frames],
) -> tuple[Standing, ...]:
    """Return where each process of the run stands, from two looks; `apart` waits between them.

    `users` returns those frames that are the program's own: others change while a process waits.
    """
    asked = list(_asked_in(run_directory))
    living = [one for one in asked if _is_ours(one.pid, run_directory)]
    first, began = _look_at(living, run_directory), time.monotonic()
    apart()
    second, seconds = _look_at(living, run_directory), time.monotonic() - began
    found: list[Standing] = []
    for one in asked:
        before, after = first.get(one.pid), second.get(one.pid)
        standing = _plain(one, run_directory, known.get(one.pid))
        if before is None or after is None:
            found.append(msgspec.structs.replace(standing, has_ended=True))
            continue
        used = (after.processor_seconds - before.processor_seconds) / max(seconds, 0.01)
        found.append(
            msgspec.structs.replace(
                standing,
                frames=after.frames,
                worked=used > BUSY_SHARE or users(before.frames) != users(after.frames),
                reads_input=process_facts.reads_input(one.pid),
                workers=after.workers,
                lost_workers=after.lost_workers,
            )
        )
    return _ranks_or_all(found)


def _asked_in(run_directory: Path) -> Iterable[Asked]:
    for path in sorted(run_directory.glob("process-*.stacks")):
        if FILE_NAME.fullmatch(path.name) is None:
            continue
        with suppress(OSError, TraceError, msgspec.DecodeError, UnicodeDecodeError):
            head = read_bounded(path, LARGEST_STACKS).partition(b"\n")[0]
            asked = msgspec.json.decode(head, type=Asked)
            if stack_file_of(run_directory, asked.pid) == path:
                yield asked


def _is_ours(pid: int, run_directory: Path) -> bool:
    return process_facts.lives(pid) and records_into(pid, run_directory)


def _plain(asked: Asked, run_directory: Path, known: Known | None) -> Standing:
    calls = read_calls(calls_file_of(run_directory, asked.pid))
    rank, world_size = asked.rank, 1
    if known is not None and known.world_size > 1:
        rank, world_size = known.rank, known.world_size
    if calls is not None:
        rank, world_size = calls.rank, calls.world_size
    step = -1 if known is None else known.last_step
    return Standing(asked.pid, rank, world_size, last_step=step, calls=calls)


def _ranks_or_all(found: list[Standing]) -> tuple[Standing, ...]:
    """Return the ranks without launchers and without those that were started anew; all that live if there are none."""
    living = [one for one in found if not one.has_ended]
    ranks = {one.rank for one in living} - {None}
    if not ranks:
        return tuple(living)
    ended = [one for one in found if one.has_ended and one.world_size > 1]
    lost = [one for one in ended if one.rank is not None and one.rank not in ranks]
    return tuple(
        sorted(
            [one for one in living if one.rank is not None] + lost, key=lambda one: one.rank or 0
        )
    )


def _look_at(living: list[Asked], run_directory: Path) -> dict[int, _Look]:
    """Ask all processes at once; one that has ended since is left out."""
    sizes = {one.pid: _ask(one, one.pid, run_directory) for one in living}
    looks: dict[int, _Look] = {}
    own = {one.pid for one in living}
    for one in living:
        frames = _answer(one, sizes[one.pid], run_directory)
        children = [child for child in process_facts.children_of(one.pid) if child not in own]
        alive = [child for child in children if process_facts.lives(child)]
        workers = []
        for child in alive[:MOST_WORKERS]:
            stack = _answer(one, _ask(one, child, run_directory), run_directory)
            if stack:
                workers.append(Worker(child, stack))
        used = sum(map(process_facts.processor_seconds, [one.pid, *alive]))
        if process_facts.lives(one.pid):
            looks[one.pid] = _Look(frames, tuple(workers), used, len(children) - len(alive))
    return looks


def _ask(asked: Asked, pid: int, run_directory: Path) -> int | None:
    """Ask a process, or one that it forked, for its stacks; return where in the file they begin, None if it cannot."""
    path = stack_file_of(run_directory, asked.pid)
    if not process_facts.handles(pid, asked.signal):
        return None
    if not process_facts.has_open(pid, asked.descriptor, path):
        return None
    with suppress(OSError):
        size = path.stat().st_size
        os.kill(pid, asked.signal)
        return size
    return None


def _answer(asked: Asked, start: int | None, run_directory: Path) -> Frames:
    """Wait until the file does not grow any more; return the calls of the main thread, innermost first."""
    if start is None:
        return ()
    path, deadline, size = (
        stack_file_of(run_directory, asked.pid),
        time.monotonic() + ANSWER_SECONDS,
        -1,
    )
    with suppress(OSError, TraceError):
        while time.monotonic() < deadline:
            before, size = size, path.stat().st_size
            if size > start and size == before:
                break
            time.sleep(POLL_SECONDS)
        text = read_bounded(path, LARGEST_STACKS)[start:].decode(errors="replace")
        stack = main_stack(parse_stacks(text), asked.main_thread)
        return () if stack is None else stack.frames
    return ()
