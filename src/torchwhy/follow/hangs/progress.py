"""Whether a program moves, as its files in the run directory show it, and how long a step usually takes."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from statistics import median

from torchwhy.errors import TraceError
from torchwhy.follow.early_errors import newest_step
from torchwhy.follow.hangs.stack_asking import Known
from torchwhy.record.events import RunStarted
from torchwhy.record.run_file import trace_files
from torchwhy.record.step_log import ring_of
from torchwhy.record.trace import Trace

RECENT_STEPS = 64


def fingerprint(run_directory: Path) -> tuple[object, ...]:
    """Return what changes with every step, every collective and every new process of a run."""
    found: list[object] = []
    with suppress(OSError, TraceError):
        traces = sorted(trace_files(run_directory))
        found += [(one.name, one.stat().st_size, _content(ring_of(one))) for one in traces]
        calls = sorted(run_directory.glob("process-*.calls"))
        found += [(path.name, _content(path)) for path in calls]
        found.append(len(list(run_directory.glob("process-*.stacks"))))
    return tuple(found)


def _content(path: Path) -> int:
    try:
        return zlib.crc32(path.read_bytes())
    except OSError:
        return 0


def usual_seconds(traces: Iterable[Trace]) -> float | None:
    """Return the median time of the newest steps on the slowest rank; None before the first step."""
    times = [
        median(step.milliseconds for step in trace.steps[-RECENT_STEPS:]) / 1000
        for trace in traces
        if trace.steps
    ]
    return max(times, default=None)


def known_processes(traces: Iterable[Trace]) -> Mapping[int, Known]:
    """Return what the traces say of their processes, by process."""
    return {
        started.pid: Known(started.rank, started.world_size, newest_step(trace))
        for trace in traces
        for started in trace.of(RunStarted)[:1]
    }
