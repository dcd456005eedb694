"""Run a training program unchanged, and explain the failure if it breaks.

The program is a script (`torchwhy run train.py --lr 3`), a module (`torchwhy run -m package.train`), a notebook
(`torchwhy run study.ipynb`) or any command that starts Python somewhere (`torchwhy run torchrun --nproc-per-node 2
train.py`). Everything after the program belongs to the program. The report goes to stderr and to .torchwhy/runs/.

An error that is certain is told while the program runs, in one line on stderr.

The exit code is the program's own; 1 if torchwhy stopped the program before it wrote a bad update into the
weights, or ended it at an error (--on-finding stop) or a hang (--on-hang stop); 65 if --fail-on applies; 2 if the
command line is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torchwhy.commands.guidance.allow_option import add_allow_option, check_allowed
from torchwhy.commands.guidance.option_types import positive, share, size_in_bytes
from torchwhy.commands.guidance.program_check import check_program
from torchwhy.commands.live.live_options import add_live_options, run_and_follow
from torchwhy.confine.created_files import names_below, note_created
from torchwhy.errors import TorchwhyError, UsageError
from torchwhy.observe.ending_signals import ending
from torchwhy.observe.launch import describe_run, run_in_foreground
from torchwhy.observe.run_directories import (
    RUNS_FOLDER,
    CannotRecordError,
    begin_recording,
    temporary_runs,
)
from torchwhy.observe.torch_features.interpreter import options_with_values
from torchwhy.printable import one_line
from torchwhy.record.run_file import Run, read_run, read_traces
from torchwhy.report.page.page_file import check_folder, page_of, write_output

if TYPE_CHECKING:
    from torchwhy.follow.follower import Follower
    from torchwhy.report.model import Report

NOTEBOOK = ".ipynb"
FAIL_ON_CODE = 65
WITHHELD_CODE = 1
LEVELS = {"error": ("failed",), "warning": ("failed", "suspect")}
DEFAULT_RERUN_LIMIT_SECONDS = 300.0  # Users wait this long for an answer.
DEFAULT_FIX_LIMIT_SECONDS = 300.0  # The same, for all trials together.

DEFAULT_KEPT_STATE = 2 * 10**9  # bytes


class Outcome(NamedTuple):
    """How a run went, and whether an update was withheld: an exit code of 0 is then not the program's merit."""

    word: str
    withheld: bool


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.usage = "torchwhy run [options] PROGRAM [arguments of the program]"
    add_output_options(parser)
    parser.add_argument(
        "--on-failure",
        choices=("stop", "skip", "continue"),
        default="stop",
        help="at a step with a bad loss or gradient: withhold its update, replay it and stop the "
        "program (default), go on without that update, or go on as if torchwhy were not there",
    )
    add_live_options(parser)
    parser.add_argument(
        "--fail-on",
        choices=tuple(LEVELS),
        help="exit with 65 if there is a finding this severe (for CI)",
    )
    parser.add_argument(
        "--no-rerun",
        action="store_true",
        help="never run the program a second time to find the origin of a failure",
    )
    parser.add_argument(
        "--rerun-limit",
        metavar="SECONDS",
        type=positive,
        default=DEFAULT_RERUN_LIMIT_SECONDS,
        help="how long a second run may take (default: 300)",
    )
    parser.add_argument(
        "--budget",
        metavar="SHARE",
        type=share,
        help="share of the program's time that watching may take, such as 0.5%% (default: 1%%); optional "
        "measurements become rarer to stay within it, the check of every step never does",
    )
    _add_further_options(parser)


def _add_further_options(parser: argparse.ArgumentParser) -> None:
    """Add what to do after the run, and where it is recorded."""
    parser.add_argument(
        "--fix",
        action="store_true",
        help="after a failure, try changes to the source, each in its own run, and report which one cures it",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="after a run whose loss did not fall, put further questions by experiment, as `torchwhy check` does",
    )
    add_trial_options(parser)
    parser.add_argument(
        "--run-dir",
        metavar="DIR",
        type=Path,
        help="record in a folder inside DIR; on a file system that several machines share, `torchwhy report DIR` "
        "then joins what each of them recorded",
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing; only write the report")


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `torchwhy run` and `torchwhy check` share: what is reported, written and kept."""
    add_allow_option(parser)
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the report to FILE")
    parser.add_argument(
        "--html", metavar="FILE", type=Path, help="also write the report as a page to FILE"
    )
    parser.add_argument(
        "--no-data",
        action="store_true",
        help="record no value of the data: the page cannot show the sample at fault, the batch of the "
        "failing step is not kept",
    )
    parser.add_argument(
        "--keep-state",
        metavar="SIZE",
        type=size_in_bytes,
        default=DEFAULT_KEPT_STATE,
        help="when torchwhy stops the program, save parameters, buffers, optimizers and random state as before "
        "the failing step if they take at most SIZE, such as 500MB (default: 2GB; 0 saves nothing)",
    )


def add_trial_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `torchwhy run` and `torchwhy fix` share."""
    parser.add_argument(
        "--rerun-in-place",
        action="store_true",
        help="let second runs and trials write the program's files again; by default they change no file",
    )
    parser.add_argument(
        "--fix-limit",
        metavar="SECONDS",
        type=positive,
        default=DEFAULT_FIX_LIMIT_SECONDS,
        help="how long all trials together may take (default: 300)",
    )


def split(words: list[str], parser: argparse.ArgumentParser) -> tuple[list[str], list[str]]:
    """Return the own options, and the program with its arguments, which torchwhy does not parse."""
    takes_value = options_with_values(parser)
    position = 0
    while position < len(words):
        word = words[position]
        if word == "--":
            return words[:position], words[position + 1 :]
        if not word.startswith("-") or word in ("-m", "-c"):
            break
        position += 2 if word in takes_value else 1
    return words[:position], words[position:]


def execute(options: argparse.Namespace) -> int:
    """Run the program and report; return the exit code."""
    return run_and_report(options)[0]


def run_and_report(options: argparse.Namespace) -> tuple[int, Path | None]:
    """Run the program and report; return the exit code and the run directory, None if nothing was recorded."""
    command: list[str] = options.program
    if command and command[0].endswith(NOTEBOOK):
        return _run_notebook(command, options), None
    check_program(command)
    check_json(options.json)
    check_folder("--html", options.html)
    check_allowed(options.allow)
    run = describe_run(
        command,
        on_failure=options.on_failure,
        budget=options.budget,
        keeps_data=not options.no_data,
        keep_state=options.keep_state,
        allow=options.allow,
        hang=options.hang or None,
    )
    run_directory = recording(run, options.run_dir)
    if run_directory is not None:
        run = read_run(run_directory)  # It has its seal by now.
    before = names_below(Path(run.directory))
    if run_directory is None:
        run = run_in_foreground(run_directory, run)
        ending.exit_by = run.signal
        return run.exit_code or 0, None
    run, follower = run_and_follow(run_directory, run, options)
    note_created(run_directory, Path(run.directory), before)
    ended_by = ending.received
    with ending.watched(), closing(follower):
        outcome = _report_if_possible(run_directory, run, options, follower=follower)
    code = _exit_code(run, outcome=outcome, options=options)
    ending.exit_by = run.signal if code == run.exit_code else None
    if (
        ended_by is None and ending.asks_to_leave
    ):  # The program had ended; the signal was for torchwhy.
        ending.exit_by = ending.asks_to_leave
    return code, run_directory


def _run_notebook(command: list[str], options: argparse.Namespace) -> int:
    """Run a notebook, whose cells report for themselves."""
    from torchwhy.integrations.notebook_run import run_notebook

    refused = {
        "--json": options.json,
        "--html": options.html,
        "--fix": options.fix,
        "--check": options.check,
        "--fail-on": options.fail_on,
        "--budget": options.budget,
        "--no-data": options.no_data,
        "--on-finding stop": options.on_finding == "stop",
        "--notify": options.notify,
        "--allow": options.allow,
        "--on-hang stop": options.on_hang == "stop",
    }
    for name, value in refused.items():
        if value:
            raise UsageError(
                f"{name} does not work with a notebook: each of its cells is a run of its own.",
                slug="wrong-option",
            )
    if command[1:]:
        raise UsageError("a notebook takes no arguments.", slug="wrong-option")
    return run_notebook(Path(command[0]), on_failure=options.on_failure)


def check_json(path: Path | None) -> None:
    """Raise `UsageError` for a file that cannot be written, before the program runs."""
    if path is not None and not path.absolute().parent.is_dir():
        raise UsageError(
            f"--json {path}: there is no directory {path.absolute().parent}.",
            slug="cannot-write-report",
        )


def recording(run: Run, given: Path | None = None) -> Path | None:
    """Begin to record here, or in the folder `given`, else below the temporary directory, else not at all."""
    try:
        return begin_recording(run, given or RUNS_FOLDER, is_given=given is not None)
    except CannotRecordError as problem:
        here = f"{given or RUNS_FOLDER} cannot be written{'' if given else ' here'} ({problem})"
    try:
        directory = begin_recording(run, temporary_runs())
    except CannotRecordError as problem:
        where = f"{here}, nor below the temporary directory ({problem})"
        print(f"torchwhy: the program runs unwatched, because {where}.", file=sys.stderr)
        return None
    print(f"torchwhy: recording in {directory}, because {here}.", file=sys.stderr)
    return directory


def _exit_code(run: Run, *, outcome: Outcome | None, options: argparse.Namespace) -> int:
    if outcome is None:
        return run.exit_code or 0
    if options.fail_on is not None and outcome.word in LEVELS[options.fail_on]:
        return FAIL_ON_CODE
    if run.stopped_step is not None:
        return WITHHELD_CODE
    if run.exit_code == 0 and options.on_failure == "stop" and outcome.withheld:
        return WITHHELD_CODE
    return run.exit_code or 0


def _report_if_possible(
    run_directory: Path, run: Run, options: argparse.Namespace, *, follower: Follower
) -> Outcome | None:
    """Return the outcome; None if the report fails, so that the program's exit code is not lost."""
    try:
        return _report(run_directory, run, options, follower=follower)
    except TorchwhyError as problem:
        print(f"torchwhy: {problem}", file=sys.stderr)
    except BrokenPipeError:
        pass  # The reader of stderr has closed it.
    except Exception as problem:
        import traceback

        details = run_directory / "report-failure.txt"
        with suppress(OSError):
            details.write_text(traceback.format_exc(), encoding="utf8")
        print(
            f"torchwhy: the report failed ({type(problem).__name__}: {one_line(str(problem))}). This is a bug in "
            f"torchwhy; details are in {_as_typed(details)}. [internal-error]",
            file=sys.stderr,
        )
    return None


def _report(
    run_directory: Path, run: Run, options: argparse.Namespace, *, follower: Follower
) -> Outcome:
    from torchwhy.commands import trials
    from torchwhy.commands.check_offer import check_if_wanted
    from torchwhy.commands.rerun import rerun_if_needed
    from torchwhy.pipeline import diagnose

    stream = None if options.quiet else sys.stderr
    traces = read_traces(run_directory)
    note = rerun_if_needed(
        run_directory,
        run,
        traces=traces,
        allowed=not options.no_rerun,
        limit_seconds=options.rerun_limit,
        in_place=options.rerun_in_place,
        stream=stream,
    )
    if (run_directory / "rerun").is_dir():
        traces = read_traces(run_directory)
    report = diagnose(run_directory, notes=() if note is None else (note,), traces=traces)
    report = report.with_launcher(time.process_time())
    follower.withdraw_missing(report)
    unwritten = trials.store(run_directory, report)
    if options.fix and ending.received is None and unwritten is None:
        report = trials.try_fixes(
            run_directory,
            report,
            limit_seconds=options.fix_limit,
            allowed=not options.no_rerun,
            in_place=options.rerun_in_place,
            stream=stream,
        )
        unwritten = trials.store(run_directory, report)
    if not options.quiet:
        _show(run_directory, run, report, options)
    if unwritten is not None:
        print(f"torchwhy: the report is not stored: {unwritten}.", file=sys.stderr)
    if options.json is not None:
        write_copy(report, options.json)
    if options.html is not None:
        write_page(run_directory, report, options)
    check_if_wanted(
        report, run, wanted=options.check, stream=stream, keeps_data=not options.no_data
    )
    withheld = any(alarm.withheld for trace in traces for alarm in trace.alarms)
    return Outcome(report.outcome, withheld=withheld)


def _show(run_directory: Path, run: Run, report: Report, options: argparse.Namespace) -> None:
    from torchwhy.report.plain_report import show_plainly

    if show_plainly(report, sys.stderr):
        return
    from torchwhy.commands import trials
    from torchwhy.commands.check_offer import offered_check
    from torchwhy.report.text.terminal import Place, show

    then = trials.next_steps(report, Path(run.directory), tried=options.fix)
    then += [] if options.check else offered_check(report, run)
    place = Place(_as_typed(run_directory), Path(run.directory))
    show(report, place, sys.stderr, then=then)


def write_copy(report: Report, path: Path) -> None:
    """Write the report to the file of `--json`, or say why that is impossible."""
    try:
        report.write(path)
    except OSError as problem:
        reason = problem.strerror or problem
        print(f"torchwhy: --json {path} cannot be written: {reason}.", file=sys.stderr)


def write_page(run_directory: Path, report: Report, options: argparse.Namespace) -> None:
    """Write the page; the program has run, so a file that cannot be written is told and nothing more."""
    try:
        text = page_of(run_directory, report, shows_data=not options.no_data)
        write_output(text, options.html)
    except TorchwhyError as problem:
        print(f"torchwhy: --html: {problem}", file=sys.stderr)


def _as_typed(run_directory: Path) -> Path:
    return Path(os.path.relpath(run_directory))
