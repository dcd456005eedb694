"""List the recorded runs of this directory, newest first: when, what came out, and the root cause.

`torchwhy report ID` shows the report of a run, `torchwhy report train.py` that of the last run of a script, and
`torchwhy clean` removes old runs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from torchwhy.plain_data import dataclass
from torchwhy.printable import one_line
from torchwhy.record.secrets import masked_command

DEFAULT_NUMBER = 20
TITLES = ("id", "when (UTC)", "outcome", "steps", "command", "root cause")
WIDEST_COMMAND = 40
WIDTH_OF_A_FILE = 160


@dataclass(frozen=True)
class RunRow:
    """One run in the list; `steps` is None for a run that has not ended or cannot be read."""

    name: str
    when: str
    outcome: str
    steps: int | None
    command: str
    root_cause: str | None
    headline: str
    location: str | None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("-f", "--format", choices=("text", "json"), default="text")
    parser.add_argument(
        "-n",
        "--number",
        metavar="N",
        type=whole_number,
        default=DEFAULT_NUMBER,
        help=f"how many runs to list (default: {DEFAULT_NUMBER})",
    )


def whole_number(text: str) -> int:
    """Return a number of runs from the command line."""
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of runs")
    return int(text)


def execute(options: argparse.Namespace) -> int:
    """Print the list to stdout."""
    from torchwhy.commands.history.recorded_runs import known_runs

    known = known_runs()
    rows = [row_of(directory) for directory in known[::-1][: options.number]]
    if options.format == "json":
        print(json.dumps([asdict(row) for row in rows], indent=1))
        return 0
    print("\n".join(_table(rows)) if rows else "No run is recorded here.")
    if rows and len(known) > len(rows):
        print(f"and {len(known) - len(rows)} older; `torchwhy runs -n {len(known)}` lists them")
    return 0


def row_of(run_directory: Path) -> RunRow:
    """Return a run as it stands in the list; what cannot be read is told as its outcome."""
    from torchwhy.commands.view import has_ended, moment_of
    from torchwhy.errors import TorchwhyError
    from torchwhy.pipeline import load
    from torchwhy.record.run_file import read_run
    from torchwhy.report.headlines import headline

    name, when = run_directory.name, moment_of(run_directory.name)
    command = ""
    try:
        run = read_run(run_directory)
        command = one_line(" ".join(masked_command(run.command)))
        if not has_ended(run_directory, run):
            return RunRow(name, when, "running", None, command, None, "", None)
        report = load(run_directory)
    except TorchwhyError as problem:
        return RunRow(name, when, "unreadable", None, command, None, problem.message, None)
    root = report.root_cause
    return RunRow(
        name,
        when,
        report.outcome,
        report.steps,
        command,
        None if root is None else root.detector,
        "" if root is None else headline(root),
        None if root is None or root.location is None else str(root.location),
    )


def _table(rows: Sequence[RunRow]) -> list[str]:
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH_OF_A_FILE
    cells = [TITLES, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(TITLES))]
    return ["  ".join(map(str.ljust, line, widths)).rstrip()[:width] for line in cells]


def _cells(row: RunRow) -> tuple[str, ...]:
    steps = "" if row.steps is None else str(row.steps)
    command = row.command
    if len(command) > WIDEST_COMMAND:
        command = f"{command[: WIDEST_COMMAND - 1]}…"
    place = f" {row.location}" if row.location else ""
    cause = f"{row.root_cause}{place}" if row.root_cause else row.headline
    identity = row.name.rpartition("-")[2]
    cells = (identity, row.when, row.outcome, steps, command, cause)
    return tuple(one_line(cell) for cell in cells)
