"""Run a training program unchanged, and explain the failure if it breaks.

The program is a script (`torchwhy run train.py --lr 3`), a module (`torchwhy run -m package.train`) or any
command that starts Python somewhere (`torchwhy run torchrun --nproc-per-node 2 train.py`). Everything
after the program belongs to the program. The report goes to stderr and to .torchwhy/runs/.

The exit code is the program's own; 1 if torchwhy stopped the program before it wrote a bad update into the
weights; 65 if --fail-on applies; 2 if the command line is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path

from torchwhy.errors import TorchwhyError, UsageError
from torchwhy.observe.launch import (
    child_command,
    describe_run,
    is_script,
    make_run_directory,
    run_in_foreground,
)
from torchwhy.observe.torch_features.interpreter import options_with_values
from torchwhy.record.run_file import Run

FAIL_ON_CODE = 65
WITHHELD_CODE = 1
LEVELS = {"error": ("failed",), "warning": ("failed", "suspect")}
DEFAULT_RERUN_LIMIT_SECONDS = 300.0  # Users wait this long for an answer.
DEFAULT_FIX_LIMIT_SECONDS = 300.0  # The same, for all trials together.


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.usage = "torchwhy run [options] PROGRAM [arguments of the program]"
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the report to FILE")
    parser.add_argument(
        "--on-failure",
        choices=("stop", "skip", "continue"),
        default="stop",
        help="after torchwhy withheld and replayed a bad step: stop the program (default), go on "
        "without that update, or go on with it as if torchwhy were not there",
    )
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
    parser.add_argument(
        "--fix",
        action="store_true",
        help="after a failure, try changes to the source, each in its own run, and report which one cures it",
    )
    add_limit(parser)
    parser.add_argument("--quiet", action="store_true", help="print nothing; only write the report")


def add_limit(parser: argparse.ArgumentParser) -> None:
    """Add the option that `torchwhy run` and `torchwhy fix` share."""
    parser.add_argument(
        "--fix-limit",
        metavar="SECONDS",
        type=positive,
        default=DEFAULT_FIX_LIMIT_SECONDS,
        help="how long all trials together may take (default: 300)",
    )


def positive(text: str) -> float:
    """Return a number of seconds from the command line."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of seconds")
    return number


def share(text: str) -> float:
    """Return a share from the command line: `1%` or `0.01`."""
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share of the time, such as 1%")
    return number


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


def run_and_report(options: argparse.Namespace) -> tuple[int, Path]:
    """Run the program and report; return the exit code and the run directory."""
    command: list[str] = options.program
    check_program(command)
    if options.json is not None and not options.json.absolute().parent.is_dir():
        raise UsageError(
            f"--json {options.json}: there is no directory {options.json.absolute().parent}.",
            slug="cannot-write-report",
        )
    run_directory = make_run_directory(command)
    run = run_in_foreground(
        run_directory,
        describe_run(command, on_failure=options.on_failure, budget=options.budget),
    )
    outcome = _report_if_possible(run_directory, run, options)
    return _exit_code(run_directory, run, outcome=outcome, options=options), run_directory


def _exit_code(
    run_directory: Path, run: Run, *, outcome: str | None, options: argparse.Namespace
) -> int:
    if outcome is None:
        return run.exit_code or 0
    if options.fail_on is not None and outcome in LEVELS[options.fail_on]:
        return FAIL_ON_CODE
    if run.exit_code == 0 and options.on_failure == "stop" and _withheld_an_update(run_directory):
        return WITHHELD_CODE
    return run.exit_code or 0


def _report_if_possible(run_directory: Path, run: Run, options: argparse.Namespace) -> str | None:
    """Return the outcome; None if the report fails, so that the program's exit code is not lost."""
    try:
        return _report(run_directory, run, options)
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
            f"torchwhy: the report failed ({type(problem).__name__}: {problem}). This is a bug in "
            f"torchwhy; details are in {_as_typed(details)}. [internal-error]",
            file=sys.stderr,
        )
    return None


def _withheld_an_update(run_directory: Path) -> bool:
    """Tell whether torchwhy withheld a bad update, so that an exit code of 0 is not the program's merit.

    A program that torchwhy could stop has already ended with 1; this is for a loop that ended with that step.
    """
    from torchwhy.record.run_file import read_traces

    return any(alarm.withheld for trace in read_traces(run_directory) for alarm in trace.alarms)


def check_program(command: list[str]) -> None:
    """Raise `UsageError` for a program that cannot run, before anything is recorded."""
    child_command(command)
    if command[0] in ("-m", "-c") or not is_script(command[0]) or Path(command[0]).is_dir():
        return
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(Path(command[0]).read_bytes(), command[0], "exec", dont_inherit=True)
        except SyntaxError as problem:
            _show_as_python_does(problem)
            raise UsageError(
                f"{command[0]}:{problem.lineno} is not valid Python: {problem.msg}.",
                slug="syntax-error",
            ) from None
        except ValueError as problem:
            raise UsageError(
                f"{command[0]} is not Python source: {problem}.", slug="syntax-error"
            ) from None


def _show_as_python_does(problem: SyntaxError) -> None:
    import traceback

    sys.stderr.writelines(traceback.format_exception_only(problem))


def _report(run_directory: Path, run: Run, options: argparse.Namespace) -> str:
    from torchwhy.commands import trials
    from torchwhy.commands.rerun import rerun_if_needed
    from torchwhy.pipeline import diagnose

    note = rerun_if_needed(
        run_directory,
        run,
        allowed=not options.no_rerun,
        limit_seconds=options.rerun_limit,
        stream=None if options.quiet else sys.stderr,
    )
    report = diagnose(run_directory, notes=() if note is None else (note,))
    report.write(run_directory / "report.json")
    trials.remember_sources(run_directory, report)
    if options.fix:
        report = trials.try_fixes(
            run_directory,
            report,
            limit_seconds=options.fix_limit,
            allowed=not options.no_rerun,
            stream=None if options.quiet else sys.stderr,
        )
        report.write(run_directory / "report.json")
        trials.remember_sources(run_directory, report)
    if options.json is not None:
        report.write(options.json)
    if not options.quiet:
        from torchwhy.report.terminal import Place, show

        show(report, Place(_as_typed(run_directory), Path(run.directory)), sys.stderr)
        trials.print_next_step(report, Path(run.directory), tried=options.fix, stream=sys.stderr)
    return report.outcome


def _as_typed(run_directory: Path) -> Path:
    return Path(os.path.relpath(run_directory))
