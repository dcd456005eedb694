"""Decides about trials of fixes, and tells the person who waits."""

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
IN_A_COPY = "in a copy of its directory: files that it writes elsewhere it writes again (`--no-rerun` forbids it)."
IN_PLACE = (
    "in its own directory, because {reason}: what it writes to disk it writes again "
    "(`--no-rerun` forbids it)."
)
ABOUT_TRIALS = (
    "no fix was tried",
    "no change of the source",
    "after ",
    "the trials were",
    "the program needs files",
)
FORBIDDEN = "no fix was tried, because --no-rerun forbids running the program again."


def try_fixes(
    run_directory: Path,
    report: Report,
    *,
    limit_seconds: float,
    allowed: bool,
    stream: IO[str] | None,
) -> Report:
    """Return the report with what the trials of its root cause's fixes showed."""
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
    # What an earlier `torchwhy fix` of this run had to say about its trials is over.
    kept = (note for note in report.notes if not note.startswith(ABOUT_TRIALS))
    return replace(report, findings=findings, notes=(*kept, *outcome.notes))


def _findings(run_directory: Path) -> Sequence[Finding]:
    return diagnose(run_directory).findings


def _untried(root: Finding, report: Report, directory: Path) -> Outcome:
    proposed = choose(root, report.findings, directory)
    advice = (fix for fix in root.fixes if fix.diff not in {one.diff for one in proposed})
    return Outcome(replace(root, fixes=(*proposed, *advice)), (FORBIDDEN,))


def _launcher(stream: IO[str] | None) -> Launch:
    """Return what runs a trial and, on a terminal, shows the seconds it takes."""

    def launch(place: Path, run: Run, limit_seconds: float) -> Run:
        told = 0

        def progress(seconds: float) -> None:
            nonlocal told
            if stream is not None and stream.isatty() and int(seconds) > told:
                told = int(seconds)
                stream.write(f"\r\x1b[Ktorchwhy:     {told} s of at most {limit_seconds:.0f}")
                stream.flush()

        ended = run_quietly(place, run, limit_seconds=limit_seconds, progress=progress)
        if told and stream is not None:
            stream.write("\r\x1b[K")
        return ended

    return launch


class _Teller:
    """Writes progress, after saying once that the program is run again."""

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
    """Write down what the files with findings hold, so that `--apply` sees a change of them."""
    record_sources(run_directory, report.findings, Path(read_run(run_directory).directory))


def best_fix(report: Report) -> Fix | None:
    """Return the change that was seen to cure the root cause in a run of the whole program."""
    root = report.root_cause
    for fix in () if root is None else root.fixes:
        if fix.diff and fix.trial.verdict == "cured" and fix.trial.summary:
            return fix
    return None


def say_what_to_do(report: Report, directory: Path, *, tried: bool, stream: IO[str]) -> None:
    """Say how to take a proven fix over, that there is none, or how to look for one."""
    root = report.root_cause
    if root is None:
        return
    if best_fix(report) is not None:
        stream.write("  To write the tried change into the source: torchwhy fix --apply\n")
    elif not tried and has_candidates(report, directory):
        stream.write("  To try changes of the source that may cure it: torchwhy fix\n")
    elif tried and any(fix.trial.summary for fix in root.fixes):
        stream.write("  No proven fix: nothing that was tried cures this run.\n")


def has_candidates(report: Report, directory: Path) -> bool:
    """Tell whether there is anything to try for the root cause."""
    root = report.root_cause
    return root is not None and bool(choose(root, report.findings, directory))
