"""Runs the same command again with the recorded seeds, up to the step that failed.

For failures that could not be repeated in place. This is the supervisor's half, which needs no torch; in the rerun
itself, `rerun_child` puts the microscope on for the failing step.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from torchwhy.confine.confined_run import FileProtectedError, refused_path, run_again
from torchwhy.record.births import came_from_nowhere
from torchwhy.record.events import Alarm, Birth, Replayed, RunStarted
from torchwhy.record.run_file import Run, read_run
from torchwhy.record.trace import Trace, read_events

INTERRUPTED = "the second run was interrupted."
TAIL_BYTES = 4096  # a few step events, to see how far a run has come

Progress = Callable[[float, int | None], None]


def needs_rerun(traces: Sequence[Trace]) -> int | None:
    """Return the step of the first alarm if the microscope has not seen its cause on every rank that raised it."""
    first = [min((alarm.step for alarm in trace.of(Alarm)), default=None) for trace in traces]
    step = min((one for one in first if one is not None), default=None)
    if step is None:
        return None
    alarmed = [trace for trace, one in zip(traces, first, strict=True) if one == step]
    if all(_was_seen(trace, step) for trace in alarmed):
        return None
    return step if all(map(_can_be_seen, alarmed)) else None


def _can_be_seen(trace: Trace) -> bool:
    """Tell whether this torch has what the microscope needs: without it a second run shows nothing new."""
    missing = [one for started in trace.of(RunStarted) for one in started.missing]
    return not any("microscope" in one.left_out for one in missing)


def _was_seen(trace: Trace, step: int) -> bool:
    for replayed in trace.of(Replayed):
        if replayed.step != step:
            continue
        if replayed.reproduced:
            return replayed.how == "rerun" or not came_from_nowhere(trace, step)
        # The microscope is on for the first step from the start, so there is nothing to compare it with.
        if replayed.how == "first-step" and any(
            b.step == step and b.reaches for b in trace.of(Birth)
        ):
            return True
    return False


def seconds_to_failure(traces: Sequence[Trace], step: int, *, run_seconds: float) -> float:
    """Return how long the run took to get to the step: all of its time minus the later steps."""
    later = [
        sum(event.milliseconds for event in trace.steps if event.step > step) / 1000
        for trace in traces
    ]
    return max(0.0, run_seconds - max(later, default=0.0))


def rerun(
    run_directory: Path,
    step: int,
    *,
    limit_seconds: float,
    progress: Progress = lambda _seconds, _step: None,
    in_place: bool = False,
) -> str | None:
    """Run again up to `step`, recording into `<run directory>/rerun`; return why that failed, None if it did not.

    The program changes no file of the user, unless `in_place` lets it.
    """
    rerun_directory = run_directory / "rerun"
    rerun_directory.mkdir(exist_ok=True)
    unstarted = replace(
        read_run(run_directory),
        rerun_step=step,
        rehearsal_steps=None,
        exit_code=None,
        signal=None,
        seconds=None,
        timed_out=False,
    )
    try:
        ended = run_again(
            rerun_directory,
            unstarted,
            first=run_directory,
            limit_seconds=limit_seconds,
            progress=lambda seconds: progress(seconds, last_step(rerun_directory)),
            in_place=in_place,
        )
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as problem:
        return f"the second run could not be prepared: {problem}."
    except FileProtectedError as problem:
        return str(problem)
    return _why_unseen(rerun_directory, step, ended, limit_seconds=limit_seconds)


def _why_unseen(
    rerun_directory: Path, step: int, ended: Run, *, limit_seconds: float
) -> str | None:
    if any(_saw(path, step) for path in rerun_directory.glob("rank*.jsonl")):
        return None
    if ended.timed_out:
        return (
            f"the second run did not come to step {step} within {limit_seconds:g} seconds "
            "and was stopped; `--rerun-limit SECONDS` gives it more."
        )
    refused = refused_path(rerun_directory)
    if refused is not None:
        return str(FileProtectedError(refused, changed=False))
    return (
        f"the second run ended with exit code {ended.exit_code} before it came to step {step}; "
        f"its output is in {os.path.relpath(rerun_directory / 'output.txt')}."
    )


def _saw(path: Path, step: int) -> bool:
    return any(isinstance(event, Replayed) and event.step == step for event in read_events(path))


def last_step(run_directory: Path) -> int | None:
    """Return the newest step in the trace of a run that may still be running."""
    try:
        with (run_directory / "rank0.jsonl").open("rb") as trace:
            trace.seek(0, 2)
            trace.seek(max(0, trace.tell() - TAIL_BYTES))
            steps = re.findall(rb'"event":"step","step":(\d+)', trace.read())
    except OSError:
        return None
    return int(steps[-1]) if steps else None
