"""What the stack of a process says: the program's own line, and what it waits for there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.standing.collective_log import Call
from torchwhy.record.standing.stack_file import Frame
from torchwhy.record.standing.standstill import Standing, Standstill
from torchwhy.source.files import layer_of

Doing = Literal["launches", "collective", "backward", "loader", "input", "works", "stands", "ended"]
STANDARD_LIBRARY = re.compile(
    r"/lib(64)?/python3\.\d+/"
)  # of whichever interpreter ran the program
COLLECTIVES = ("torch/distributed/distributed_c10d.py",)
BACKWARD = ("torch/autograd/graph.py", "torch/autograd/__init__.py")
LOADER = ("torch/utils/data/dataloader.py",)
WORKER = ("torch/utils/data/_utils/worker.py",)
LAUNCHER = ("torch/distributed/run.py",)
INPUT = ("/pdb.py", "/bdb.py", "/cmd.py")  # of the debugger, which reads from the terminal
LONGEST_STATEMENT = 60


@dataclass(frozen=True)
class Place:
    """Where one process stands. `called` is the collective it waits in, `number` which one of its collectives."""

    rank: int | None
    pid: int
    doing: Doing
    at: SourceSpan | None = None
    statement: str = ""
    called: str = ""
    number: int | None = None
    made: int = 0  # collectives of all ranks, as recorded
    is_alone: bool = False

    @property
    def who(self) -> str:
        """Return `rank 1`; of a process without a rank `process 4242`, or `the program` if there is no other."""
        if self.rank is not None:
            return f"rank {self.rank}"
        return "the program" if self.is_alone else f"process {self.pid}"

    @property
    def where(self) -> str:
        """Return `at train.py:31 in main`."""
        return "outside of the program's own files" if self.at is None else f"at {self.at}"

    @property
    def waits_for_ranks(self) -> bool:
        """Tell whether it is in a collective that all ranks take part in, as its own record says."""
        return self.doing == "collective" and self.number is not None


def is_users(file: str) -> bool:
    """Tell whether a file is the user's own, whichever interpreter ran it."""
    own = layer_of(file) == "user" and not file.startswith("<")
    return own and STANDARD_LIBRARY.search(file) is None


def users_frames(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Return the frames of the user's program, innermost first."""
    return tuple(frame for frame in frames if is_users(frame.file))


def place_of(standing: Standing, standstill: Standstill) -> Place:
    """Return where a process stands."""
    users = users_frames(standing.frames)
    at = _span(users[0], standstill) if users else None
    call = _open_call(standing)
    if at is None and call is not None and call.line:
        at = SourceSpan(call.file, call.line)
    doing = _doing(standing)
    inner = _until_users(standing.frames)
    called = call.name if call is not None else ""
    if doing == "collective" and not called:
        called = next((one.function for one in reversed(inner) if _is_in(one, COLLECTIVES)), "")
    return Place(
        rank=standing.rank,
        pid=standing.pid,
        doing=doing,
        at=at,
        statement=statement_at(users[0], standstill) if users else "",
        called=called,
        number=None if call is None else call.number,
        made=0 if standing.calls is None else standing.calls.made,
        is_alone=len(standstill.processes) == 1,
    )


def worker_frames(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Return the program's own frames in which a process works that another forked; none if it waits for work.

    A loader's worker has the frames of the process that forked it around its own loop.
    """
    inside = next((place for place, frame in enumerate(frames) if _is_in(frame, WORKER)), None)
    return users_frames(frames if inside is None else frames[:inside])


def _doing(standing: Standing) -> Doing:
    if standing.has_ended:
        return "ended"
    inner = _until_users(standing.frames)
    if _any_in(standing.frames, LAUNCHER):
        return "launches"
    if standing.reads_input or any(frame.file.endswith(INPUT) for frame in inner):
        return "input"
    if _open_call(standing) is not None:  # Some backends keep the processor busy while they wait.
        return "collective"
    if _any_in(inner, LOADER):
        return "loader"
    if standing.worked:
        return "works"
    if _any_in(inner, COLLECTIVES):
        return "collective"
    if _any_in(inner[:1], BACKWARD):
        return "backward"
    return "stands"


def _open_call(standing: Standing) -> Call | None:
    """Return the collective that a process has called and that has not returned."""
    calls = standing.calls
    if calls is None or calls.made == calls.returned or standing.has_ended:
        return None
    return next((one for one in calls.newest if one.number == calls.made), None)


def _until_users(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Return the frames inside the innermost one of the user's program."""
    count = next((i for i, frame in enumerate(frames) if is_users(frame.file)), len(frames))
    return frames[:count]


def _any_in(frames: tuple[Frame, ...], files: tuple[str, ...]) -> bool:
    return any(_is_in(frame, files) for frame in frames)


def _is_in(frame: Frame, files: tuple[str, ...]) -> bool:
    return frame.file.endswith(files)


def _span(frame: Frame, standstill: Standstill) -> SourceSpan:
    return SourceSpan(shown(frame.file, standstill), frame.line, function=frame.function)


def shown(file: str, standstill: Standstill) -> str:
    """Return a path relative to where the program was started, where it lies inside."""
    path = Path(standstill.directory) / file
    inside = path.is_relative_to(standstill.directory)
    return str(path.relative_to(standstill.directory)) if inside else file


def statement_at(frame: Frame, standstill: Standstill) -> str:
    """Return the line at which a frame stands; "" if its text is unknown."""
    lines = standstill.texts.get(frame.file, "").splitlines()
    if not 0 < frame.line <= len(lines):
        return ""
    text = lines[frame.line - 1].strip()
    return text if len(text) <= LONGEST_STATEMENT else f"{text[: LONGEST_STATEMENT - 1]}…"
