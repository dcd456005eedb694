"""Write a folder with a short program that repeats the failing step of a run alone, to attach to a bug report.

The program is cut out of your own files: the definitions and statements that make the model, the state before the
step, its batch, the random state, and the body of your loop. It is run before it is offered, in scratch folders, and
must fail as the run did: the same operation on the same line. Then samples are taken away while it still does.

RUN is a recorded run or a script, by default the last run. The folder must not exist, or be empty. If the step cannot
be cut out, one sentence says why, nothing is written, and the exit code is 2.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from torchwhy.commands.consent import allow_command
from torchwhy.commands.guidance.option_types import positive
from torchwhy.commands.history.recorded_runs import find_run
from torchwhy.errors import UsageError
from torchwhy.observe.ending_signals import ending
from torchwhy.printable import one_line

if TYPE_CHECKING:
    from torchwhy.record.trace import Trace

DEFAULT_LIMIT_SECONDS = 60.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.usage = "torchwhy repro [options] [RUN]"
    parser.add_argument("run", nargs="?", metavar="RUN", help="a recorded run (default: the last)")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        type=Path,
        help="the folder to write (default: repro- and the run's id, here)",
    )
    parser.add_argument(
        "--limit",
        metavar="SECONDS",
        type=positive,
        default=DEFAULT_LIMIT_SECONDS,
        help="how long the program may run each time (default: 60)",
    )
    parser.add_argument(
        "--trust-run",
        action="store_true",
        help="run code of a run that you did not record here, without asking",
    )


def execute(options: argparse.Namespace) -> int:
    """Make the folder and say what is in it; return the exit code."""
    from torchwhy.record.run_file import read_run, read_traces
    from torchwhy.reproduce.making import Maker

    run_directory = find_run(options.run).absolute()
    run = read_run(run_directory)
    target = options.output or Path(f"repro-{run_directory.name.rpartition('-')[2]}")
    _check_target(target)
    trace = _failing(read_traces(run_directory))
    allow_command(
        run_directory,
        run,
        trusted=options.trust_run,
        question="Run the step of this program? [y/N] ",
        otherwise="torchwhy repro --trust-run",
    )
    maker = Maker(
        run_directory,
        trace,
        title=_title(run_directory),
        limit_seconds=options.limit,
        say=lambda words: print(f"torchwhy: {words}", file=sys.stderr),
    )
    with ending.watched():
        made = maker.make(target.absolute())
    ending.exit_by = ending.asks_to_leave
    shown = Path(os.path.relpath(target)) / made.program
    samples = ""
    if made.of_samples:
        samples = f" with {made.samples} of {made.of_samples} samples"
    optimizer = "with" if made.with_update else "without"
    print(
        f"`python {shlex.quote(str(shown))}` repeats the failure{samples}, {optimizer} the optimizer: the same "
        "operation on the same line. The folder holds weights and data of yours; look at them before you pass it on."
    )
    return 0


def _check_target(target: Path) -> None:
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise UsageError(f"{target} exists and is no folder.", slug="folder-not-empty")
    if target.is_dir() and any(target.iterdir()):
        raise UsageError(
            f"{target} is not empty; name another folder with -o.", slug="folder-not-empty"
        )


def _failing(traces: list[Trace]) -> Trace:
    for trace in traces:
        if trace.alarms:
            return trace
    raise UsageError(
        "no step of this run was seen to make a value that is not finite.", slug="cannot-reproduce"
    )


def _title(run_directory: Path) -> str:
    from torchwhy.pipeline import load

    root = load(run_directory).root_cause
    if root is None:
        return "Repeats the failing step of a training run."
    where = "" if root.location is None else f" ({root.location})"
    return one_line(f"Repeats step {root.step} of a training run: {root.message}{where}.")
