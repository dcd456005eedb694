"""Remove old recorded runs of this directory, and keep the newest.

Only runs that you recorded here are removed: not one that was copied or downloaded, not one that is still running. No
link is followed. What is removed is listed.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from torchwhy.commands.history.runs import DEFAULT_NUMBER, whole_number
from torchwhy.errors import TorchwhyError, UsageError
from torchwhy.observe.run_directories import RUNS_FOLDER
from torchwhy.printable import one_line

NOT_ALL_CODE = 1


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "--keep",
        metavar="N",
        type=whole_number,
        default=DEFAULT_NUMBER,
        help=f"how many of the newest runs to keep (default: {DEFAULT_NUMBER})",
    )
    parser.add_argument("--dry-run", action="store_true", help="only list what would be removed")


def execute(options: argparse.Namespace) -> int:
    """Remove the runs; the exit code is 1 if one could not be removed."""
    from torchwhy.commands.history.recorded_runs import known_runs

    for folder in (RUNS_FOLDER.parent, RUNS_FOLDER):
        if folder.is_symlink():
            raise UsageError(
                f"{folder} is a link, and `torchwhy clean` follows none: clean the folder that it leads to.",
                slug="linked-runs",
            )
    known = known_runs()
    old = known[: max(0, len(known) - options.keep)]
    reasons = {path: _reason_to_keep(path) for path in old}
    failed = _remove([path for path in old if reasons[path] is None], dry_run=options.dry_run)
    for path, reason in reasons.items():
        if reason is not None:
            print(f"kept     {one_line(path.name)}: {reason}")
    if not old:
        print(f"Nothing to remove: {_counted(len(known))} recorded here.")
    return NOT_ALL_CODE if failed else 0


def _remove(paths: Sequence[Path], *, dry_run: bool) -> int:
    """Remove run directories and say so; return how many could not be removed."""
    word = "would remove" if dry_run else "removed"
    freed = failed = 0
    for path in paths:
        size = _size(path)
        if not dry_run:
            try:
                shutil.rmtree(path)
            except OSError as problem:
                failed += 1
                print(f"failed   {one_line(path.name)}: {one_line(str(problem))}")
                continue
        freed += size
        print(f"{word}  {one_line(path.name)}")
    if paths:
        done = "would be removed" if dry_run else "removed"
        print(f"{_counted(len(paths) - failed)} {done}, {freed / 1e6:.1f} MB.")
    return failed


def _reason_to_keep(path: Path) -> str | None:
    """Return why a run must stay; None if it may go."""
    from torchwhy.commands.view import has_ended
    from torchwhy.record.run_file import read_run, recorded_here

    if path.is_symlink():
        return "it is a link"
    try:
        run = read_run(path)
        if not recorded_here(path, run):
            return "you did not record it here"
        return None if has_ended(path, run) else "it is still running"
    except (TorchwhyError, OSError) as problem:
        return one_line(str(problem))


def _size(folder: Path) -> int:
    return sum(
        (Path(inner) / name).lstat().st_size
        for inner, _, names in os.walk(folder)
        for name in names
    )


def _counted(number: int) -> str:
    return "1 run" if number == 1 else f"{number} runs"
