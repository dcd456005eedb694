"""Decides about running the program again, and tells the person who waits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO

from torchwhy.record.run import Run, read_traces
from torchwhy.replay.rerun import needs_rerun, rerun, seconds_to_failure

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
        return rerun(run_directory, step, limit_seconds=limit_seconds)
    stream.write(f"torchwhy: {goal(step)} (`--no-rerun` forbids it).\n")
    stream.flush()
    progress = _progress(stream, step)
    problem = rerun(run_directory, step, limit_seconds=limit_seconds, progress=progress)
    if stream.isatty():
        stream.write("\r\x1b[K")
    return problem


def goal(step: int) -> str:
    """Return why the program runs again."""
    if step < 0:
        return "running the program again to see where the bad value is born"
    return f"running the program again up to step {step} to see where the bad value is born"


def _progress(stream: IO[str], step: int) -> Callable[[float, int | None], None]:
    if not stream.isatty():
        return lambda _seconds, _step: None

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
