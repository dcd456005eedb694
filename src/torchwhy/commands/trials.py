"""Try fixes for a report's root cause, show the progress, and print the next step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from torchwhy.finding import Finding, Fix
from torchwhy.observe.launch import run_quietly
from torchwhy.pipeline import diagnose
from torchwhy.record.run_file import Run, read_run
from torchwhy.report.model import Report
from torchwhy.verify.campaign import Outcome, choose, try_all
from torchwhy.verify.diffs import record_sources
from torchwhy.verify.trial import Laboratory, Launch

WARNING = "torchwhy: each trial runs your program again, with an edited copy of the source"
IN_A_COPY = "in a copy of its directory; it rewrites the files that it writes elsewhere (`--no-rerun` forbids it)."
IN_PLACE = "in its own directory, because {reason}; it rewrites its output files (`--no-rerun` forbids it)."
FORBIDDEN = "no fix was tried, because --no-rerun forbids running the program again."


def try_fixes(
    run_directory: Path,
    report: Report,
    *,
    limit_seconds: float,
    allowed: bool,
    stream: IO[str] | None,
) -> Report:
    """Return the report with the tried fixes of its root cause and notes about the trials."""
    root = report.root_cause
    if root is None:
        return report
    if not allowed:
        outcome = _untried(root, report, Path(read_run(run_directory).directory))
    else:
        laboratory = Laboratory(run_directory, root, _findings, _launcher(stream))
        tell = _Teller(stream, laboratory)
        outcome = try_all(laboratory, report.findings, limit_seconds=limit_seconds, tell=tell)
    findings = (outcome.finding, *report.findings[1:])
    return replace(report, findings=findings, trial_notes=outcome.notes)


def _findings(run_directory: Path) -> Sequence[Finding]:
    return diagnose(run_directory).findings


def _untried(root: Finding, report: Report, directory: Path) -> Outcome:
    proposed = choose(root, report.findings, directory)
    advice = (fix for fix in root.fixes if fix.diff not in {one.diff for one in proposed})
    return Outcome(replace(root, fixes=(*proposed, *advice)), (FORBIDDEN,))


def _launcher(stream: IO[str] | None) -> Launch:
    """Return a function that runs a trial and, on a terminal, shows the elapsed seconds."""

    def launch(place: Path, run: Run, limit_seconds: float) -> Run:
        shown = 0

        def progress(seconds: float) -> None:
            nonlocal shown
            if stream is not None and stream.isatty() and int(seconds) > shown:
                shown = int(seconds)
                stream.write(f"\r\x1b[Ktorchwhy:     {shown} s of at most {limit_seconds:.0f}")
                stream.flush()

        ended = run_quietly(place, run, limit_seconds=limit_seconds, progress=progress)
        if shown and stream is not None:
            stream.write("\r\x1b[K")
        return ended

    return launch


class _Teller:
    """Writes progress; the first line warns that trials run the program again."""

    def __init__(self, stream: IO[str] | None, laboratory: Laboratory) -> None:
        self._stream = stream
        self._laboratory = laboratory
        self._began = False

    def __call__(self, line: str) -> None:
        if self._stream is None:
            return
        if not self._began:
            reason = self._laboratory.runs_in_place
            where = IN_A_COPY if reason is None else IN_PLACE.format(reason=reason)
            self._stream.write(f"{WARNING}, {where}\n")
            self._began = True
        self._stream.write(f"torchwhy: {line}\n")
        self._stream.flush()


def remember_sources(run_directory: Path, report: Report) -> None:
    """Store the hashes of the files with findings, so that `--apply` notices a later edit."""
    record_sources(run_directory, report.findings, Path(read_run(run_directory).directory))


def best_fix(report: Report) -> Fix | None:
    """Return the change that cured the root cause in a run of the whole program."""
    root = report.root_cause
    for fix in () if root is None else root.fixes:
        if fix.diff and fix.trial.verdict == "cured" and fix.trial.summary:
            return fix
    return None


def print_next_step(report: Report, directory: Path, *, tried: bool, stream: IO[str]) -> None:
    """Print how to apply a proven fix, how to try fixes, or that none of them cures the run."""
    root = report.root_cause
    if root is None:
        return
    if best_fix(report) is not None:
        stream.write("  To write the proven change into the source: torchwhy fix --apply\n")
    elif not tried and has_candidates(report, directory):
        stream.write("  To try changes to the source that may cure it: torchwhy fix\n")
    elif tried and any(fix.trial.summary for fix in root.fixes):
        stream.write("  No proven fix: none of the tried changes cures this run.\n")


def has_candidates(report: Report, directory: Path) -> bool:
    """Tell whether there is a change to try for the root cause."""
    root = report.root_cause
    return root is not None and bool(choose(root, report.findings, directory))
