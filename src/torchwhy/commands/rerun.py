"""Run the program again if the failure needs it, and show the progress."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from torchwhy.commands.guidance.progress_line import ProgressLine
from torchwhy.observe.ending_signals import ending
from torchwhy.record.run_file import Run
from torchwhy.record.secrets import masked_command
from torchwhy.record.trace import Trace
from torchwhy.replay.step.rerun_parent import needs_rerun, rerun, seconds_to_failure

FILES_ARE_SAFE = "your files stay as they are, what it does over the network is repeated"
FILES_ARE_WRITTEN = "in its own directory, so that it writes its files again"


def rerun_if_needed(
    run_directory: Path,
    run: Run,
    *,
    traces: Sequence[Trace],
    allowed: bool,
    limit_seconds: float,
    in_place: bool,
    stream: IO[str] | None,
) -> str | None:
    """Run the program again if no replay showed the failure; return a note if that is not possible.

    `traces` are those of the first run.
    """
    step = needs_rerun(traces)
    if step is None:
        return None
    if not allowed:
        return f"step {step} could not be repeated in place, and --no-rerun forbids a second run."
    if ending.received is not None:
        return f"step {step} could not be repeated in place, and a signal ended the run before a second one."
    if any(trace.world_size > len(traces) for trace in traces):
        return f"step {step} could not be repeated in place, and a second run would need the job's other machines."
    needed = seconds_to_failure(traces, step, run_seconds=run.seconds or 0.0)
    if needed > limit_seconds:
        return (
            f"step {step} could not be repeated in place, and a second run would take about "
            f"{needed:.0f} seconds; `torchwhy run --rerun-limit {needed * 2:.0f} "
            f"{shlex.join(masked_command(run.command))}` allows it."
        )
    progress = ProgressLine(stream, last=step if step >= 0 else None)
    if stream is not None:
        files = FILES_ARE_WRITTEN if in_place else FILES_ARE_SAFE
        stream.write(f"torchwhy: {goal(step)}: {files} (`--no-rerun` forbids it).\n")
        stream.flush()
    problem = rerun(
        run_directory, step, limit_seconds=limit_seconds, progress=progress, in_place=in_place
    )
    progress.clear()
    return problem


def goal(step: int) -> str:
    """Return why the program runs again."""
    if step < 0:
        return "running the program again to find where the bad value appears"
    return f"running the program again up to step {step} to find where the bad value appears"
