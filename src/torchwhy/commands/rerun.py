"""Decides about running the program again, and tells the person who waits."""

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

QUIET_SECONDS = 1.0  # a shorter wait needs no progress


def look_again(
    run_directory: Path, run: Run, *, allowed: bool, limit_seconds: float, stream: IO[str] | None
) -> str | None:
    """Run the program again if the failure was not seen through the microscope; return what to note."""
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
    """Run again in a copy of the program's directory, so that no file of the user is written a second time.

    Where there can be no copy, or the program does not get there in it, it runs in its own directory.
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
        except OSError as reason:  # no room, or a file that may not be read
            problem = f"the program's directory could not be copied: {reason}"
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
        return "running the program again to see where the bad value is born"
    return f"running the program again up to step {step} to see where the bad value is born"


def _silent(_seconds: float, _step: int | None) -> None:
    """Tell nothing."""


def _progress(stream: IO[str], step: int) -> Progress:
    if not stream.isatty():
        return _silent

    told = ""

    def tell(seconds: float, reached: int | None) -> None:
        nonlocal told
        position = "starting" if reached is None else f"step {reached} of {step}"
        line = f"torchwhy: {position}, {seconds:.0f} s"
        if seconds >= QUIET_SECONDS and line != told:
            told = line
            stream.write(f"\r\x1b[K{line}")
            stream.flush()

    return tell
