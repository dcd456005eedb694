"""Try changes to the source that may cure a failure, each in its own run, and report which one does.

With a program (`torchwhy fix train.py --lr 3`), torchwhy first runs and diagnoses it; without one, it takes the last
run. Every trial runs the program again, with the same seeds and an edited copy of the source, well past the failure.
It changes none of your files. Your source stays unchanged until `torchwhy fix --apply` writes the change that cured
the last run into it.

A run that you did not record here (a copy, a download, part of a repository) holds a stranger's command and changes.
torchwhy shows them and asks before it runs or writes anything; without a terminal, `--trust-run` agrees beforehand.

The exit code is 0 if a change cures the run or nothing is wrong with it, otherwise 1.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

from torchwhy.commands import run as running
from torchwhy.commands.consent import allow_command, check_place, may_write, whole_command
from torchwhy.commands.history.recorded_runs import find_run
from torchwhy.errors import UsageError
from torchwhy.observe.ending_signals import ending
from torchwhy.printable import printable
from torchwhy.record.run_file import read_run, remember_command

NO_PROVEN_FIX_CODE = 1


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.usage = "torchwhy fix [options] [PROGRAM [arguments of the program]]"
    parser.add_argument(
        "--apply",
        action="store_true",
        help="write the change that cured the last run into the source",
    )
    parser.add_argument("--yes", action="store_true", help="with --apply: do not ask")
    parser.add_argument("--run", metavar="RUN", help="use this recorded run instead of the last")
    parser.add_argument(
        "--trust-run",
        action="store_true",
        help="run the command, or write the change, of a run that you did not record here, without asking",
    )
    parser.add_argument(
        "--no-rerun", action="store_true", help="only show the changes; never run the program again"
    )
    running.add_trial_options(parser)


def split(words: list[str], parser: argparse.ArgumentParser) -> tuple[list[str], list[str]]:
    """Return the own options and the program's command line."""
    return running.split(words, parser)


def execute(options: argparse.Namespace) -> int:
    """Apply the proven fix of a run, or diagnose a run and try fixes; return the exit code."""
    if options.apply and options.program:
        raise UsageError(
            "--apply takes no program: it writes the fix of the last run into the source.",
            slug="wrong-option",
        )
    if options.apply:
        return _apply(find_run(options.run), options)
    if options.program:
        code, recorded = _run_with_trials(options)
        return code if recorded is None else _judged(recorded)
    # Trials run in other directories and must find the run from there.
    directory = find_run(options.run).absolute()
    with ending.watched():
        _try(directory, options)
    ending.exit_by = ending.asks_to_leave
    return _judged(directory)


def _run_with_trials(options: argparse.Namespace) -> tuple[int, Path | None]:
    from torchwhy.commands import Parser
    from torchwhy.commands.guidance.project_settings import words_of_settings

    parser = Parser(prog="torchwhy run", allow_abbrev=False)
    running.configure(parser)
    words = ["--fix", "--fix-limit", str(options.fix_limit)]
    words += ["--no-rerun"] if options.no_rerun else []
    words += ["--rerun-in-place"] if options.rerun_in_place else []
    same = parser.parse([*words_of_settings(parser, options.program), *words])
    same.program = options.program
    return running.run_and_report(same)


def _try(run_directory: Path, options: argparse.Namespace) -> None:
    from torchwhy.commands import trials
    from torchwhy.pipeline import diagnose, load
    from torchwhy.report.text.terminal import Place, show
    from torchwhy.verify.diffs import check_unchanged, recorded_sources

    run = read_run(run_directory)
    started_in = Path(run.directory)
    if not options.no_rerun:
        allow_command(run_directory, run, trusted=options.trust_run)
        remember_command(whole_command(run))
    check_unchanged(run_directory, recorded_sources(run_directory), started_in)
    # Proposals need typed diagnoses; a stored report has only their sentences and facts.
    findings = diagnose(run_directory).findings
    report = trials.try_fixes(
        run_directory,
        replace(load(run_directory), findings=findings),
        limit_seconds=options.fix_limit,
        allowed=not options.no_rerun,
        in_place=options.rerun_in_place,
        stream=sys.stderr,
    )
    unwritten = trials.store(run_directory, report)
    place = Place(Path(os.path.relpath(run_directory)), started_in)
    show(report, place, sys.stderr, then=trials.next_steps(report, started_in, tried=True))
    if unwritten is not None:
        print(f"torchwhy: the report is not stored: {unwritten}.", file=sys.stderr)


def _judged(run_directory: Path) -> int:
    from torchwhy.commands.trials import best_fix
    from torchwhy.pipeline import load

    report = load(run_directory)
    is_well = report.root_cause is None or best_fix(report) is not None
    return 0 if is_well else NO_PROVEN_FIX_CODE


def _apply(run_directory: Path, options: argparse.Namespace) -> int:
    from torchwhy.commands.trials import best_fix, command_line
    from torchwhy.pipeline import load
    from torchwhy.source.unified_diff import changed_files
    from torchwhy.verify.diffs import check_confined, check_unchanged, edited_texts, write_all

    fix = best_fix(load(run_directory))
    if fix is None:
        raise UsageError(
            f"no tried fix cures the run {run_directory.name}; `torchwhy fix` tries the known ones.",
            slug="no-verified-fix",
        )
    if not fix.diff:
        raise UsageError(
            f"the fix is no change to the source: run `{command_line(fix)}`.",
            slug="no-diff",
        )
    run = read_run(run_directory)
    directory = Path(run.directory)
    names = changed_files(fix.diff)
    check_place(run_directory, run)
    check_confined(run_directory, names, directory)
    check_unchanged(run_directory, names, directory)
    texts = edited_texts(fix.diff, directory)
    print(printable(f"{fix.title}\n{fix.trial.summary}\n\n{fix.diff}"))
    if not may_write(run_directory, run, agreed=options.yes, trusted=options.trust_run):
        print("Nothing was changed.")
        return 1
    write_all(texts)
    print(printable(f"Written: {', '.join(os.path.relpath(path) for path in texts)}."))
    return 0
