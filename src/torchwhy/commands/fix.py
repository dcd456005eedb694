"""Try changes to the source that may cure a failure, each in its own run, and report which one does.

With a program (`torchwhy fix train.py --lr 3`), torchwhy first runs and diagnoses it; without one, it takes the last
run. Every trial runs the program again, with the same seeds and an edited copy of the source, well past the failure,
if possible in a copy of its directory. Files under absolute paths are written again. Your source stays unchanged
until `torchwhy fix --apply` writes the change that cured the last run into it.

The exit code is 0 if a change cures the run or nothing is wrong with it, otherwise 1.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from torchwhy.commands import run as running
from torchwhy.commands.report import find_run
from torchwhy.errors import UsageError
from torchwhy.record.run_file import read_run

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
        "--no-rerun", action="store_true", help="only show the changes; never run the program again"
    )
    running.add_limit(parser)


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
        return _apply(find_run(options.run), ask=not options.yes)
    if options.program:
        return _judged(_run_with_trials(options))
    # Trials run in other directories and must find the run from there.
    directory = find_run(options.run).absolute()
    _try(directory, options)
    return _judged(directory)


def _run_with_trials(options: argparse.Namespace) -> Path:
    parser = argparse.ArgumentParser()
    running.configure(parser)
    words = ["--fix", "--fix-limit", str(options.fix_limit)]
    same = parser.parse_args([*words, "--no-rerun"] if options.no_rerun else words)
    same.program = options.program
    return running.run_and_report(same)[1]


def _try(run_directory: Path, options: argparse.Namespace) -> None:
    from torchwhy.commands import trials
    from torchwhy.pipeline import diagnose, load
    from torchwhy.report.terminal import Place, show
    from torchwhy.verify.diffs import check_unchanged, recorded_sources

    started_in = Path(read_run(run_directory).directory)
    check_unchanged(run_directory, recorded_sources(run_directory), started_in)
    # Proposals need typed diagnoses; a stored report has only their sentences and facts.
    findings = diagnose(run_directory).findings
    report = trials.try_fixes(
        run_directory,
        replace(load(run_directory), findings=findings),
        limit_seconds=options.fix_limit,
        allowed=not options.no_rerun,
        stream=sys.stderr,
    )
    report.write(run_directory / "report.json")
    trials.remember_sources(run_directory, report)
    show(report, Place(Path(os.path.relpath(run_directory)), started_in), sys.stderr)
    trials.print_next_step(report, started_in, tried=True, stream=sys.stderr)


def _judged(run_directory: Path) -> int:
    from torchwhy.commands.trials import best_fix
    from torchwhy.pipeline import load

    report = load(run_directory)
    is_well = report.root_cause is None or best_fix(report) is not None
    return 0 if is_well else NO_PROVEN_FIX_CODE


def _apply(run_directory: Path, *, ask: bool) -> int:
    from torchwhy.commands.trials import best_fix
    from torchwhy.pipeline import load
    from torchwhy.verify.diffs import changed_files, check_unchanged, edited_texts, write_all

    fix = best_fix(load(run_directory))
    if fix is None:
        raise UsageError(
            f"no tried fix cures the run {run_directory.name}; `torchwhy fix` tries the known ones.",
            slug="no-verified-fix",
        )
    directory = Path(read_run(run_directory).directory)
    check_unchanged(run_directory, changed_files(fix.diff), directory)
    texts = edited_texts(fix.diff, directory)
    print(f"{fix.title}\n{fix.trial.summary}\n\n{fix.diff}")
    if ask and not _agreed():
        print("Nothing was changed.")
        return 1
    write_all(texts)
    print(f"Written: {', '.join(os.path.relpath(path) for path in texts)}.")
    return 0


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            "cannot ask for confirmation without a terminal: `torchwhy fix --apply --yes` writes without asking.",
            slug="not-confirmed",
        )
    with suppress(EOFError):
        return input("Write this change? [y/N] ").strip().lower() in ("y", "yes")
    return False
