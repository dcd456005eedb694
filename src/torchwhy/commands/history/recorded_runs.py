"""The runs of this directory, oldest first, and the one that a word of the user means."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from torchwhy.commands.guidance.suggestions import did_you_mean, looks_like_program
from torchwhy.errors import TraceError
from torchwhy.observe.run_directories import RUNS_FOLDER, CannotRecordError, temporary_runs

MOMENT_LENGTH = len("20260131T120000Z")


def known_runs(runs: Path = RUNS_FOLDER) -> list[Path]:
    """Return the directories of the runs recorded here, or below the temporary directory, oldest first."""
    return sorted(
        (path.parent for path in (*runs.glob("*/run.json"), *_recorded_elsewhere())),
        key=lambda path: (path.name[:MOMENT_LENGTH], (path / "run.json").lstat().st_mtime),
    )


def find_run(name: str | None, runs: Path = RUNS_FOLDER) -> Path:
    """Return the run of that name, or the last one of that script; without a name, the last one."""
    known = known_runs(runs)
    if name is None:
        if not known:
            raise TraceError(
                f"no run is recorded in {runs.absolute()}; `torchwhy run train.py` records one.",
                slug="unknown-run",
            )
        return known[-1]
    if "\0" not in name and os.path.lexists(Path(name) / "run.json"):
        return Path(name)
    matches = [path for path in known if path.name.startswith(name) or path.name.endswith(name)]
    if len(matches) == 1:
        return matches[0]
    of_script = [path for path in known if _ran(path, name)]
    if of_script:
        return of_script[-1]
    if "\0" not in name and Path(name).is_dir():
        raise TraceError(f"{name} is not a recorded run: it has no run.json.", slug="unknown-run")
    if matches:
        raise TraceError(
            f"{name!r} matches {len(matches)} runs: {_names(matches)}.", slug="unknown-run"
        )
    raise TraceError(_unknown(name, known, runs), slug="unknown-run")


def _unknown(name: str, known: Sequence[Path], runs: Path) -> str:
    if looks_like_program(name):
        near = did_you_mean(name, {script_of(path) or "" for path in known})
        return f"no run of {name} is recorded{near or f'; `torchwhy run {name}` records one.'}"
    recorded = f"recorded are {_names(known)}" if known else "none is recorded"
    return f"there is no run {name!r} in {runs}; {recorded}."


def script_of(run_directory: Path) -> str | None:
    """Return the script or module that a run started, as it stood in the command."""
    from torchwhy.record.run_file import read_run

    try:
        command = read_run(run_directory).command
    except TraceError:
        return None
    if command[0] == "-m":
        return command[1] if len(command) > 1 else None
    return next((word for word in command if word.endswith(".py")), command[0])


def _ran(run_directory: Path, name: str) -> bool:
    """Tell whether a run started this script: `train.py`, `src/train.py`, `train`, `package.train`."""
    script = script_of(run_directory)
    if script is None or not name:
        return False
    if not script.endswith(".py"):
        return name in (script, script.rpartition(".")[2])
    path = Path(script)
    return name in (path.name, path.stem) or ("\0" not in name and path == Path(name))


def _recorded_elsewhere() -> Iterator[Path]:
    """Yield the runs of this directory that could not be recorded in it."""
    from torchwhy.record.run_file import read_run

    with suppress(CannotRecordError):
        for path in temporary_runs(make=False).glob("*/run.json"):
            with suppress(TraceError):
                if read_run(path.parent).directory == str(Path.cwd()):
                    yield path


def _names(runs: Sequence[Path], most: int = 3) -> str:
    names = [path.name for path in reversed(runs)]
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
