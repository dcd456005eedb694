"""`hang.json`: who stood where when no process made a step for long. The supervisor writes it, `detect` judges it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from torchwhy.errors import TraceError
from torchwhy.record.run_folder import LARGEST_JSON, read_bounded, replace_file
from torchwhy.record.standing.collective_log import Calls
from torchwhy.record.standing.stack_file import Frame

HANG_FILE = "hang.json"


class Worker(msgspec.Struct, frozen=True):
    """A process that a watched one forked, such as a loader's worker."""

    pid: int
    frames: tuple[Frame, ...]


class Standing(msgspec.Struct, frozen=True):
    """Where one process stood; frames are those of its main thread, innermost first.

    `worked` says that its calls changed between two looks, or that it used the processor in between.
    """

    pid: int
    rank: int | None
    world_size: int
    frames: tuple[Frame, ...] = ()
    worked: bool = False
    reads_input: bool = False
    has_ended: bool = False
    last_step: int = -1
    calls: Calls | None = None
    workers: tuple[Worker, ...] = ()
    lost_workers: int = 0  # children that ended and were not waited for


class Standstill(msgspec.Struct, frozen=True):
    """No process of the run made a step for so many seconds; `usual_seconds` is what a step takes, if known."""

    seconds: float
    last_step: int
    processes: tuple[Standing, ...]
    usual_seconds: float | None = None
    texts: dict[
        str, str
    ] = {}  # of the program's files on the stacks, by the names that frames have
    directory: str = ""  # where the program was started
    stopped: bool = False  # whether the run was ended for it


def write_standstill(run_directory: Path, standstill: Standstill) -> None:
    """Store a standstill in place of an earlier one."""
    replace_file(run_directory / HANG_FILE, msgspec.json.encode(standstill).decode())


def forget_standstill(run_directory: Path) -> None:
    """Remove what was stored, because the program has moved on."""
    with suppress(OSError):
        (run_directory / HANG_FILE).unlink(missing_ok=True)


def read_standstill(run_directory: Path) -> Standstill | None:
    """Return the standstill in which a run ended; None if there was none, or it cannot be read."""
    try:
        content = read_bounded(run_directory / HANG_FILE, LARGEST_JSON)
        return msgspec.json.decode(content, type=Standstill)
    except (FileNotFoundError, TraceError, msgspec.DecodeError, UnicodeDecodeError):
        return None
