"""Run the program again if the failure needs it, and show the progress."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import IO

from torchwhy.record.run_file import Run, read_traces
from torchwhy.replay.step.rerun_parent import (
    INTERRUPTED,
    Progress,
    needs_rerun,
    rerun,
    seconds_to_failure,
)
from torchwhy.verify import scratch

QUIET_SECONDS = 1.0  # A shorter wait needs no progress line.


def rerun_if_needed(
    run_directory: Path, run: Run, *, allowed: bool, limit_seconds: float, stream: IO[str] | None
) -> str | None:
    """Run the program again if no replay showed the failure; return a note if that is not possible."""
    traces = read_traces(run_directory)
    step = needs_rerun(traces)
    if step is None:
        return None
    if not allowed:
        return f"step {step} could not be repeated in place, and --no-rerun forbids a second run."
    needed = seconds_to_failure(traces, step, run_seconds=run.seconds or 0.0)
    if needed > limit_seconds:
        return (
            f"step {step} could not be repeated in place, and a second run would take about "
            f"{needed:.0f} seconds; `--rerun-limit {needed * 2:.0f}` allows it."
        )
    if stream is None:
        return _run_again(run_directory, run, step, limit_seconds=limit_seconds, progress=_silent)
    stream.write(f"torchwhy: {goal(step)} (`--no-rerun` forbids it).\n")
    stream.flush()
    progress = _progress(stream, step)
    problem = _run_again(run_directory, run, step, limit_seconds=limit_seconds, progress=progress)
    if stream.isatty():
        stream.write("\r\x1b[K")
    return problem


def _run_again(
    run_directory: Path, run: Run, step: int, *, limit_seconds: float, progress: Progress
) -> str | None:
    """Run again in a copy of the program's directory, so that the program does not overwrite the user's files.

    If a copy is impossible, or the rerun fails in it, run in the program's own directory.
    """
    began = time.monotonic()
    directory = Path(run.directory)
    if scratch.reason_against(run.command, directory) is None:
        copied = run_directory.absolute() / "rerun" / "directory"
        try:
            scratch.copy(directory, copied)
            place = scratch.moved_command(run.command, directory, copied), copied
            problem = rerun(
                run_directory, step, limit_seconds=limit_seconds, progress=progress, place=place
            )
        except OSError as reason:  # The disk is full, or a file cannot be read.
            problem = f"cannot copy the program's directory: {reason}"
        finally:
            shutil.rmtree(copied, ignore_errors=True)
        left = limit_seconds - (time.monotonic() - began)
        if problem is None or problem == INTERRUPTED or left < 1.0:
            return problem
        limit_seconds = left
        for trace in copied.parent.glob("rank*"):
            trace.unlink()
    return rerun(run_directory, step, limit_seconds=limit_seconds, progress=progress)


def goal(step: int) -> str:
    """Return why the program runs again."""
    if step < 0:
        return "running the program again to find where the bad value appears"
    return f"running the program again up to step {step} to find where the bad value appears"


def _silent(_seconds: float, _step: int | None) -> None:
    """Show no progress."""


def _progress(stream: IO[str], step: int) -> Progress:
    if not stream.isatty():
        return _silent

    shown = ""

    def show(seconds: float, reached: int | None) -> None:
        nonlocal shown
        position = "starting" if reached is None else f"step {reached} of {step}"
        line = f"torchwhy: {position}, {seconds:.0f} s"
        if seconds >= QUIET_SECONDS and line != shown:
            shown = line
            stream.write(f"\r\x1b[K{line}")
            stream.flush()

    return show
