"""Run the program again if the failure needs it, and show the progress."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import IO

from torchwhy.observe.ending_signals import ending
from torchwhy.record.run_file import Run, read_traces
from torchwhy.record.secrets import masked_command
from torchwhy.replay.step.rerun_parent import Progress, needs_rerun, rerun, seconds_to_failure

QUIET_SECONDS = 1.0  # A shorter wait needs no progress line.


FILES_ARE_SAFE = "your files stay as they are, what it does over the network is repeated"
FILES_ARE_WRITTEN = "in its own directory, so that it writes its files again"


def rerun_if_needed(
    run_directory: Path,
    run: Run,
    *,
    allowed: bool,
    limit_seconds: float,
    in_place: bool,
    stream: IO[str] | None,
) -> str | None:
    """Run the program again if no replay showed the failure; return a note if that is not possible."""
    traces = read_traces(run_directory)
    step = needs_rerun(traces)
    if step is None:
        return None
    if not allowed:
        return f"step {step} could not be repeated in place, and --no-rerun forbids a second run."
    if ending.received is not None:
        return f"step {step} could not be repeated in place, and a signal ended the run before a second one."
    needed = seconds_to_failure(traces, step, run_seconds=run.seconds or 0.0)
    if needed > limit_seconds:
        return (
            f"step {step} could not be repeated in place, and a second run would take about "
            f"{needed:.0f} seconds; `torchwhy run --rerun-limit {needed * 2:.0f} "
            f"{shlex.join(masked_command(run.command))}` allows it."
        )
    progress: Progress = _silent
    if stream is not None:
        files = FILES_ARE_WRITTEN if in_place else FILES_ARE_SAFE
        stream.write(f"torchwhy: {goal(step)}: {files} (`--no-rerun` forbids it).\n")
        stream.flush()
        progress = _progress(stream, step)
    problem = rerun(
        run_directory, step, limit_seconds=limit_seconds, progress=progress, in_place=in_place
    )
    if stream is not None and stream.isatty():
        stream.write("\r\x1b[K")
    return problem


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
