"""Rehearses a program, puts all questions, and shows the progress and the checklist."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from torchwhy.commands import run as running
from torchwhy.commands import trials
from torchwhy.commands.report import name_of
from torchwhy.commands.rerun import FILES_ARE_SAFE, rerun_if_needed
from torchwhy.confine.confined_run import FileProtectedError
from torchwhy.detect.checks.questions.learning import seed_luck
from torchwhy.detect.checks.questions.state import resume_restores
from torchwhy.errors import UsageError
from torchwhy.observe.ending_signals import ending
from torchwhy.observe.launch import describe_run
from torchwhy.observe.standard_input import keep_file
from torchwhy.pipeline import diagnose
from torchwhy.record.run_file import read_run, read_traces
from torchwhy.rehearse.confined_rehearsal import Stage, ask_by_further_runs, rehearse
from torchwhy.rehearse.resume_runs import resume
from torchwhy.rehearse.seed_runs import compare_seeds
from torchwhy.replay.step.rerun_parent import last_step
from torchwhy.report.model import Report
from torchwhy.report.text.terminal import Place, show, show_checks

REHEARSAL_STEPS = 200
QUESTION_SHARE = (
    0.4  # of the limit, for experiments in the process; the rest is for training and further runs
)
BY_FURTHER_RUNS = {resume_restores.SLUG: resume, seed_luck.SLUG: compare_seeds}
INTERRUPTED = "the check was interrupted; what was asked until then is listed."


def check(
    command: list[str],
    *,
    limit_seconds: float,
    stream: IO[str] | None,
    keeps_data: bool = True,
    allow: Sequence[str] = (),
) -> tuple[Report, Path]:
    """Rehearse a program, put all questions, store the report, and write it to the stream.

    Return the report and the directory of the run.
    """
    deadline = time.monotonic() + limit_seconds
    run = replace(
        describe_run(command, on_failure="stop", keeps_data=keeps_data, allow=allow),
        rehearsal_steps=REHEARSAL_STEPS,
        rehearsal_seconds=limit_seconds * QUESTION_SHARE,
    )
    run_directory = running.recording(run)
    if run_directory is None:
        raise UsageError("a check needs a place to record.", slug="cannot-record")
    run = read_run(run_directory)
    keep_file(run_directory)
    show = _Progress(sys.stderr, run_directory, limit_seconds)
    name = name_of(command)
    if stream is not None:
        print(f"torchwhy: rehearsing {name}: {FILES_ARE_SAFE}.", file=sys.stderr)
    stage = Stage(run_directory, run, deadline, show)
    with ending.watched():
        notes = _put_all_questions(stage)
        show.clear()
        report = _report(run_directory, notes)
    if stream is not None:
        place = Place(Path(os.path.relpath(run_directory)), Path(run.directory))
        _write(report, stream, place, name=name)
    return report, run_directory


def _put_all_questions(stage: Stage) -> list[str]:
    """Make all runs; return what is to be noted about them."""
    try:
        ended = rehearse(stage)
        note = rerun_if_needed(
            stage.run_directory,
            ended,
            traces=read_traces(stage.run_directory),
            allowed=True,
            limit_seconds=max(1.0, stage.seconds_left),
            in_place=False,
            stream=None,
        )
        ask_by_further_runs(stage, ended, BY_FURTHER_RUNS)
    except KeyboardInterrupt:
        return [INTERRUPTED]
    except FileProtectedError as problem:
        raise UsageError(
            f"the program cannot run without writing {problem.path}, which `torchwhy check` does not allow.",
            slug="write-refused",
        ) from None
    except OSError as problem:
        raise UsageError(
            f"the program cannot be run in scratch folders: {problem}.", slug="cannot-start"
        ) from problem
    return [] if note is None else [note]


def _report(run_directory: Path, notes: list[str]) -> Report:
    report = diagnose(run_directory, notes=notes)
    unwritten = trials.store(run_directory, report)
    if unwritten is not None:
        print(f"torchwhy: the report is not stored: {unwritten}.", file=sys.stderr)
    return report


def _write(report: Report, stream: IO[str], place: Place, *, name: str) -> None:
    show_checks(report, stream, of=f"check {name}")
    if report.root_cause is not None:
        stream.write("\n")
        show(report, place, stream)


class _Progress:
    """One line on a terminal: what is going on, since when, and how long it may take."""

    def __init__(self, stream: IO[str], run_directory: Path, limit_seconds: float) -> None:
        self._stream = stream
        self._run_directory = run_directory
        self._limit = limit_seconds
        self._began = time.monotonic()
        self._shown = ""

    def __call__(self, doing: str) -> None:
        """Show what is going on, at most once for each second."""
        if not self._stream.isatty():
            return
        step = last_step(self._run_directory)
        where = "" if step is None else f", step {step + 1} of at most {REHEARSAL_STEPS}"
        seconds = time.monotonic() - self._began
        line = f"torchwhy: {doing}{where}, {seconds:.0f} s of at most {self._limit:.0f}"
        if line != self._shown:
            self._shown = line
            self._stream.write(f"\r\x1b[K{line}")
            self._stream.flush()

    def clear(self) -> None:
        """Remove the line."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
