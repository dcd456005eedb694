"""Makes the folder: cuts the program, runs it, and takes samples away while it still fails in the same way."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from torchwhy.errors import UsageError
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Birth
from torchwhy.record.kept.kept_failure import BatchKept, FramesKept, StateKept
from torchwhy.record.trace import Trace
from torchwhy.reproduce.copied_statements import CannotCutError, setting_statements
from torchwhy.reproduce.cut_program import CutProgram, Cutter, StepFacts
from torchwhy.reproduce.program_text import DATA_FILE, ProgramText, judged, render
from torchwhy.reproduce.repetition import failure_of, repeat
from torchwhy.reproduce.step_data import KeptData, read_data, write_data

PROGRAM_FILE = "repro.py"
MOST_RUNS = 10  # of the new program, each a few seconds
Say = Callable[[str], None]
Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Made:
    """What the folder holds, and how small it became."""

    program: str
    samples: int
    of_samples: int
    with_update: bool
    runs: int


@dataclass(frozen=True)
class _Cut:
    program: CutProgram
    text: ProgramText


class Maker:
    """Makes one folder out of a recorded run."""

    def __init__(
        self, run_directory: Path, trace: Trace, *, title: str, limit_seconds: float, say: Say
    ) -> None:
        self._run_directory = run_directory
        self._trace = trace
        self._title = title
        self._limit = limit_seconds
        self._say = say
        self._runs = 0
        self._birth = _needed(
            failure_of(trace), "no operation of the failing step was seen to fail"
        )
        _refuse_bad_data(self._birth, trace)
        self._facts, self._state_file, batch_file = _facts_of(run_directory, trace)
        self._data = read_data(batch_file)

    def make(self, target: Path) -> Made:
        """Write the folder, which does not exist or is empty; nothing is written if the program does not fail."""
        with tempfile.TemporaryDirectory(prefix="repro-", dir=self._run_directory) as scratch:
            folder = Path(scratch)
            cut = self._first_that_fails(folder)
            rows = self._fewest_rows(folder, cut)
            self._write(folder, cut, self._data if rows is None else self._data.with_rows(rows))
            made = [PROGRAM_FILE, DATA_FILE, *cut.program.copied.values()]
            for name in made:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / name, target / name)
        samples = self._data.samples
        return Made(
            PROGRAM_FILE,
            samples if rows is None else len(rows),
            samples,
            cut.program.makes_update,
            self._runs,
        )

    def _first_that_fails(self, folder: Path) -> _Cut:
        """Return the smallest cut that fails as the run did."""
        why = ""
        for cut in self._cuts():
            if isinstance(cut, str):
                why = why or cut
                continue
            self._write(folder, cut, self._data)
            found = self._fails(folder, cut)
            if found is None:
                return cut
            why = f"the step alone does not fail in the same way ({found})"
        raise UsageError(f"{why or 'nothing could be cut out'}.", slug="cannot-reproduce")

    def _cuts(self) -> Iterator[_Cut | str]:
        """Yield the ways to cut the step out, smallest first, or why there is none."""
        in_update = self._birth.phase == "update"
        ways = [(True, True)] if in_update else [(False, False), (False, True), (True, True)]
        seen = set()
        for with_update, whole_body in ways:
            try:
                program = Cutter(self._facts, with_update=with_update, whole_body=whole_body).cut()
            except CannotCutError as problem:
                yield f"the step cannot be cut out of the program: {problem}"
                continue
            main = self._facts.files[self._facts.frames.frames[-1].file]
            text = render(program, setting_statements(main), title=self._title)
            if text.text not in seen:
                seen.add(text.text)
                yield _Cut(program, text)

    def _fails(self, folder: Path, cut: _Cut) -> str | None:
        """Return None if the program fails as the run did; else what it does."""
        self._runs += 1
        text = judged(cut.text, cut.program)
        tried = repeat(
            folder,
            text,
            cut.text,
            birth=self._birth,
            what=self._trace.alarms[0].what,
            limit_seconds=self._limit,
        )
        return None if tried.is_same else tried.found

    def _fewest_rows(self, folder: Path, cut: _Cut) -> list[int] | None:
        """Return the fewest samples with which the step still fails; None for all."""
        count = self._data.samples
        best: list[int] | None = None
        for rows in _choices(self._birth, count):
            if self._runs >= MOST_RUNS or (best is not None and len(rows) >= len(best)):
                break
            self._say(f"trying {len(rows)} of {count} samples")
            self._write(folder, cut, self._data.with_rows(rows))
            if self._fails(folder, cut) is None:
                best = rows
                break
        return best

    def _write(self, folder: Path, cut: _Cut, data: KeptData) -> None:
        (folder / PROGRAM_FILE).write_text(cut.text.text, encoding="utf8")
        parts = [name for _, name in (*cut.program.models, *cut.program.optimizers)]
        names = {name: str(number) for name, number in cut.program.variables.items()}
        write_data(data, self._state_file, folder / DATA_FILE, parts=parts, names=names)
        for file, name in cut.program.copied.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._facts.files[file].text, encoding="utf8")


def _choices(birth: Birth, count: int) -> Iterator[list[int]]:
    """Yield samples to try, fewest first: the guilty ones, these with a neighbour, parts of the batch."""
    if count < 2:
        return
    guilty = sorted({row for row in birth.positions if 0 <= row < count})
    size = 1
    if guilty and len(guilty) < count:
        yield guilty
        size = len(guilty) + 1
    while size < count:
        others = [row for row in range(count) if row not in guilty]
        yield sorted([*guilty, *others[: size - len(guilty)]])
        size *= 2


def _refuse_bad_data(birth: Birth, trace: Trace) -> None:
    """Raise `UsageError` if the bad value was there before the step: the step alone would not show its origin."""
    made = next((one for one in trace.births if one.phase == "data"), None)
    if made is not None and made.location is not None:
        where = f"is made by the data code ({made.location})"
    elif birth.kind == "source" or birth.phase == "data":
        where = "comes with the data or the weights"
    else:
        return
    raise UsageError(
        f"the bad value {where}, before the step: no program with the step alone shows its origin.",
        slug="cannot-reproduce",
    )


def _facts_of(run_directory: Path, trace: Trace) -> tuple[StepFacts, Path, Path | None]:
    """Return what was kept of the failing step, and the files of its state and batch."""
    again = trace.rerun
    places = [(run_directory, trace)]
    if again is not None and any(one.file for one in again.of(StateKept)):
        places.insert(0, (run_directory / "rerun", again))
    directory, kept_in = places[0]
    state = _needed(
        next((one for one in kept_in.of(StateKept) if one.file), None),
        "the run has not kept the state before its failing step",
    )
    frames = _needed(
        next(iter(kept_in.of(FramesKept)), None),
        "the run has not kept the program's variables (--no-data)",
    )
    batch = next((one for one in kept_in.of(BatchKept) if one.file), None)
    facts = StepFacts(dict(trace.files), frames, state, batch)
    return (
        facts,
        _inside(directory, state.file),
        None if batch is None else _inside(directory, batch.file),
    )


def _inside(directory: Path, name: str) -> Path:
    """Return a file of the run directory, which may come from a stranger: no other path, no link."""
    path = directory / Path(name).name
    if path.is_symlink() or not path.is_file():
        raise UsageError(f"{path} was kept, and is gone.", slug="cannot-reproduce")
    return path


def _needed(value: Kind | None, otherwise: str) -> Kind:
    if value is None:
        raise UsageError(f"{otherwise}.", slug="cannot-reproduce")
    return value
