"""What the page of a running program asks for every few seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchwhy.finding import Finding
from torchwhy.printable import printable
from torchwhy.record.events import MicroscopeLeft, RunStarted
from torchwhy.record.trace import Trace
from torchwhy.report.page.page_curves import training_curves


def live_facts(
    traces: Sequence[Trace],
    told: Sequence[Finding],
    *,
    withdrawn: Sequence[Finding] = (),
    has_ended: bool,
) -> dict[str, Any]:
    """Return steps, losses and findings so far, as plain data; `withdrawn` are told errors that no longer hold."""
    first = next(iter(traces), None)
    curves = () if first is None else training_curves(first, None)
    losses = [
        {"name": one.name, "x": list(one.x), "y": list(one.y)}
        for curve in curves
        if curve.id == "loss"
        for one in curve.series
    ]
    steps = max((step.step + 1 for trace in traces for step in trace.steps), default=0)
    return {
        "ended": has_ended,
        "steps": steps,
        "losses": losses,
        "milliseconds": _usual_step(first),
        "started": _started(first),
        "cost": _cost(traces),
        "findings": [
            *(_finding(one, one.severity) for one in told),
            *(_finding(one, "withdrawn") for one in withdrawn),
        ],
    }


def _usual_step(trace: Trace | None) -> float | None:
    """Return how long one of the last steps took, in milliseconds: the median."""
    recent = sorted(step.milliseconds for step in ([] if trace is None else trace.steps[-50:]))
    return recent[len(recent) // 2] if recent else None


def _started(trace: Trace | None) -> float | None:
    started = [] if trace is None else trace.of(RunStarted)
    return started[0].started_unix_seconds if started else None


def _cost(traces: Sequence[Trace]) -> str | None:
    """Return what the microscope took so far."""
    seconds = [sum(one.seconds for one in trace.of(MicroscopeLeft)) for trace in traces]
    return f"the microscope took {max(seconds):.1f} s so far" if any(seconds) else None


def _finding(finding: Finding, tag: str) -> dict[str, str]:
    return {
        "severity": tag,
        "detector": finding.detector,
        "message": printable(finding.message),
        "place": "" if finding.location is None else printable(str(finding.location)),
    }
