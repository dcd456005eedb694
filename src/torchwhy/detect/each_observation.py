"""Run a detector on each observation by itself: the first one, and those of optimizers that begin later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.views.parameters.trained_parameters import made
from torchwhy.finding import Evidence, Finding
from torchwhy.record.learning import LossRoot, ParameterCensus
from torchwhy.record.trace import Trace


def findings_of(detector: Detector, trace: Trace) -> Iterator[Finding]:
    """Yield a detector's findings in a trace, and the new ones in each later observation."""
    found = _scan(detector, trace)
    yield from found
    if not detector.every_observation:
        return
    for later in trace.later_observations:
        known = {place for one in found if (place := _line_of(one)) is not None}
        fresh = [
            one
            for one in _scan(detector, later)
            if _line_of(one) not in known and not any(_same(one, other) for other in found)
        ]
        found += fresh
        yield from (_observed_later(one, later) for one in fresh)


def _scan(detector: Detector, trace: Trace) -> list[Finding]:
    """Return what a detector finds in one observation; nothing if facts were left out that it needs."""
    return list(detector.scan(trace)) if all(map(trace.has_all, detector.needs_all)) else []


def _line_of(finding: Finding) -> tuple[str, int] | None:
    place = finding.location
    return (place.file, place.line) if place is not None else None


def _same(one: Finding, other: Finding) -> bool:
    return one.diagnosis == other.diagnosis


def _observed_later(finding: Finding, trace: Trace) -> Finding:
    """Return a finding with the first step of its observation, and evidence that names the optimizer.

    An observation that begins with the run is no later phase: it follows one that saw no step.
    """
    step = _first_step(trace)
    if step <= min((one.step for one in trace.steps), default=0):
        return finding
    optimizers = [
        optimizer
        for census in trace.of(ParameterCensus)
        if (optimizer := made(trace, census.optimizer)) is not None
    ]
    evidence = tuple(
        replace(one, step=max(one.step, step)) if one.step is not None else one
        for one in finding.evidence
    )
    if optimizers:
        claim = f"observed at step {step}, the first step of {optimizers[0].kind}"
        evidence = (*evidence, Evidence(claim, location=optimizers[0].location))
    since = max(finding.step or 0, step)
    return replace(finding, observed_from=since, step=since, evidence=evidence)


def _first_step(trace: Trace) -> int:
    """Return the first step of an observation."""
    steps = [event.step for event in trace.of(ParameterCensus)]
    steps += [event.step for event in trace.of(LossRoot)]
    return min(steps, default=0)
