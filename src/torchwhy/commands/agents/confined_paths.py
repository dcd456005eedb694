"""Which scripts and runs an agent may name: those in the folder that the server was started in."""

from __future__ import annotations

from pathlib import Path

from torchwhy.commands.history.recorded_runs import find_run
from torchwhy.errors import UsageError
from torchwhy.observe.run_directories import RUNS_FOLDER
from torchwhy.record.run_file import read_run

LONGEST_NAME = 1000


def script_in(root: Path, name: str) -> str:
    """Return the path of a script from the root; raise `UsageError` if it lies outside or is no script."""
    path = _inside(root, name)
    if path.suffix != ".py" or not path.is_file():
        raise UsageError(f"{name!r} is no Python script in {root}.", slug="no-such-script")
    return str(path.relative_to(root.resolve()))


def run_in(root: Path, name: str | None) -> str:
    """Return the directory of a run that lies below the root and took place there."""
    if name is not None and len(name) > LONGEST_NAME:
        raise UsageError("the name of a run is too long.", slug="unknown-run")
    directory = _inside(root, str(find_run(name, root / RUNS_FOLDER)))
    if not Path(read_run(directory).directory).resolve().is_relative_to(root.resolve()):
        raise UsageError(
            f"the run {directory.name} took place outside {root}.", slug="outside-project"
        )
    return str(directory)


def _inside(root: Path, name: str) -> Path:
    """Return a path without links; raise `UsageError` if it leads out of the root."""
    try:
        path = (root / name[:LONGEST_NAME]).resolve()
    except (OSError, RuntimeError, ValueError) as problem:  # a loop of links, a NUL in the name
        raise UsageError(f"{name[:100]!r} is no path: {problem}.", slug="no-such-script") from None
    if not path.is_relative_to(root.resolve()):
        raise UsageError(
            f"{name!r} lies outside {root}, the folder that `torchwhy mcp` was started in.",
            slug="outside-project",
        )
    return path
