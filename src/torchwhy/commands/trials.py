"""Try fixes for a report's root cause, show the progress, and print the next step."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from torchwhy.commands.guidance.progress_line import ProgressLine
from torchwhy.commands.rerun import FILES_ARE_SAFE, FILES_ARE_WRITTEN
from torchwhy.confine.confined_run import run_again
from torchwhy.finding import Finding, Fix
from torchwhy.pipeline import diagnose
from torchwhy.printable import printable
from torchwhy.record.run_file import Run, read_run
from torchwhy.replay.step.rerun_parent import last_step
from torchwhy.report.model import Report

if TYPE_CHECKING:  # a run without findings does not need `verify`
    from torchwhy.verify.campaign import Outcome
    from torchwhy.verify.trial import Launch

WARNING = "torchwhy: each trial runs your program again, with an edited copy of the source"
FORBIDDEN = "no fix was tried, because --no-rerun forbids running the program again."


def try_fixes(
    run_directory: Path,
    report: Report,
    *,
    limit_seconds: float,
    allowed: bool,
    in_place: bool,
    stream: IO[str] | None,
) -> Report:
    """Return the report with the tried fixes of its root cause and notes about the trials."""
    root = report.root_cause
    if root is None:
        return report
    if not allowed:
        outcome = _untried(root, report, read_run(run_directory))
    else:
        from torchwhy.verify.campaign import try_all
        from torchwhy.verify.trial import Laboratory

        launch = _launcher(run_directory, in_place=in_place, stream=stream)
        laboratory = Laboratory(run_directory, root, _findings, launch)
        tell = _Teller(stream, in_place=in_place)
        outcome = try_all(laboratory, report.findings, limit_seconds=limit_seconds, tell=tell)
    findings = (outcome.finding, *report.findings[1:])
    return replace(report, findings=findings, trial_notes=outcome.notes)


def _findings(run_directory: Path) -> Sequence[Finding]:
    return diagnose(run_directory).findings


def _untried(root: Finding, report: Report, run: Run) -> Outcome:
    from torchwhy.verify.campaign import Outcome, choose

    proposed = choose(root, report.findings, Path(run.directory), command=run.command)
    diffs = {one.diff for one in proposed if one.diff}
    advice = (fix for fix in root.fixes if fix.diff not in diffs)
    return Outcome(replace(root, fixes=(*proposed, *advice)), (FORBIDDEN,))


def _launcher(run_directory: Path, *, in_place: bool, stream: IO[str] | None) -> Launch:
    """Return a function that runs a trial and, on a terminal, shows steps done and the time left."""

    def launch(place: Path, run: Run, limit_seconds: float) -> Run:
        line = ProgressLine(stream, last=run.stop_after_step, limit_seconds=limit_seconds)
        ended = run_again(
            place,
            run,
            first=run_directory,
            limit_seconds=limit_seconds,
            progress=lambda seconds: line(seconds, last_step(place)),
            in_place=in_place,
        )
        line.clear()
        return ended

    return launch


class _Teller:
    """Writes progress; the first line warns that trials run the program again."""

    def __init__(self, stream: IO[str] | None, *, in_place: bool) -> None:
        self._stream = stream
        self._files = FILES_ARE_WRITTEN if in_place else FILES_ARE_SAFE
        self._began = False

    def __call__(self, line: str) -> None:
        if self._stream is None:
            return
        if not self._began:
            self._stream.write(printable(f"{WARNING}: {self._files} (`--no-rerun` forbids it).\n"))
            self._began = True
        self._stream.write(printable(f"torchwhy: {line}\n"))
        self._stream.flush()


def store(run_directory: Path, report: Report) -> str | None:
    """Write report.json, and hashes of the files with findings, so that `--apply` notices a later edit.

    Return why that is impossible; None if it is done.
    """
    try:
        report.store(run_directory)
        if report.findings:
            from torchwhy.verify.diffs import record_sources

            record_sources(run_directory, report.findings, Path(read_run(run_directory).directory))
    except OSError as problem:
        return problem.strerror or str(problem)
    return None


def best_fix(report: Report) -> Fix | None:
    """Return the change that cured the root cause in a run of the whole program, or at least makes it run."""
    root = report.root_cause
    for fix in () if root is None else root.fixes:
        if fix.can_be_tried and fix.trial.verdict in ("cured", "runs") and fix.trial.summary:
            return fix
    return None


def command_line(fix: Fix) -> str:
    """Return the command of a fix as one types it."""
    return printable(" ".join((*fix.environment, "torchwhy run", shlex.join(fix.command))))


def next_steps(report: Report, directory: Path, *, tried: bool) -> list[str]:
    """Return how to apply a proven fix, how to try fixes, or that none of them cures the run; empty if healthy."""
    root = report.root_cause
    if root is None:
        return []
    best = best_fix(report)
    if best is not None and best.diff:
        which = "proven change" if best.trial.verdict == "cured" else "change that makes it run"
        return [f"torchwhy fix --apply (writes the {which} into the source)"]
    if best is not None:
        return [f"run it so: {command_line(best)}"]
    if not tried and has_candidates(report, directory):
        return ["torchwhy fix (tries changes to the source)"]
    if tried and any(fix.trial.summary for fix in root.fixes):
        return ["no proven fix: none of the tried changes cures this run"]
    return []


def has_candidates(report: Report, directory: Path) -> bool:
    """Tell whether there is a change to try for the root cause."""
    from torchwhy.verify.campaign import choose

    root = report.root_cause
    return root is not None and bool(
        choose(root, report.findings, directory, command=report.command)
    )
