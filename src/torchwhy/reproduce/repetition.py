"""Runs the new program, confined and watched, and tells whether it fails as the run did: same birth, same line."""

from __future__ import annotations

import shutil
from pathlib import Path

from torchwhy.confine.confined_run import run_again
from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Birth, ExceptionSeen
from torchwhy.record.run_file import Run, read_traces
from torchwhy.record.trace import Trace
from torchwhy.reproduce.program_text import ProgramText

CHECKED = "checked.py"
IN_DATA = "the kept data hold the bad value already: it is made before the step"
Signature = tuple[str, str, str, str, int]


@dataclass(frozen=True)
class Repetition:
    """Whether the program failed in the same way, and how it failed if not."""

    is_same: bool
    found: str = ""


def failure_of(trace: Trace) -> Birth | None:
    """Return the first birth of the failing step."""
    step = trace.alarms[0].step if trace.alarms else None
    births = [birth for birth in trace.births if birth.step == step]
    return births[0] if births else None


def repeat(
    folder: Path, text: str, made: ProgramText, *, birth: Birth, what: str, limit_seconds: float
) -> Repetition:
    """Run the text in the folder of the new program, confined, and compare its first birth."""
    program, place = folder / CHECKED, folder / ".check"
    program.write_text(text, encoding="utf8")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    run = Run(command=(CHECKED,), directory=str(folder), hash_seed=1)
    try:
        ended = run_again(place, run, first=None, limit_seconds=limit_seconds)
        traces = read_traces(place)
        found = failure_of(traces[0]) if traces else None
        if found is None or any(trace.of(ExceptionSeen) for trace in traces):
            return Repetition(is_same=False, found=_how_it_ended(ended, place))
        same = traces[0].alarms[0].what == what
        same = same and _signature(found, made, own=program) == _signature(birth, None)
        if found.location is not None and _is_our_line(found.location, made):
            return Repetition(is_same=False, found=IN_DATA)
        return Repetition(same, found="" if same else f"{found.op} at {found.location}")
    finally:
        program.unlink(missing_ok=True)
        shutil.rmtree(place, ignore_errors=True)


def _is_our_line(place: SourceSpan, made: ProgramText) -> bool:
    return Path(place.file).name == CHECKED and place.line not in made.origins


def _signature(birth: Birth, made: ProgramText | None, own: Path | None = None) -> Signature:
    """Return what makes two births the same; lines of the new program count as those that they were copied from."""
    place = birth.location
    file, line = ("", 0) if place is None else (place.file, place.line)
    if made is not None and own is not None and Path(file).name == own.name:
        file, line = made.origins.get(line, ("", 0))
    return birth.kind, birth.phase, birth.op, file, line


def _how_it_ended(ended: Run, place: Path) -> str:
    if ended.timed_out:
        return "it took too long"
    try:
        lines = (place / "output.txt").read_text("utf8", "replace").strip().splitlines()
    except OSError:
        lines = []
    if ended.exit_code and lines:
        return lines[-1][:200]
    return "it did not fail"
