"""Each look of the microscope is read on its own: the first one, and those at optimizers that begin later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.views.parameters.trained_parameters import made
from torchwhy.finding import Evidence, Finding
from torchwhy.record.learning import LossRoot, ParameterCensus
from torchwhy.record.trace import Trace


def findings_of(detector: Detector, trace: Trace) -> Iterator[Finding]:
    """Yield what a detector finds in a trace, and in each later phase what it has not found in an earlier one."""
    found = list(detector.scan(trace))
    yield from found
    if not detector.every_observation:
        return
    for later in trace.later_observations:
        known = {place for one in found if (place := _line_of(one)) is not None}
        fresh = [
            one
            for one in detector.scan(later)
            if _line_of(one) not in known and not any(_same(one, other) for other in found)
        ]
        found += fresh
        yield from (_in_phase(one, later) for one in fresh)


def _line_of(finding: Finding) -> tuple[str, int] | None:
    place = finding.location
    return (place.file, place.line) if place is not None else None


def _same(one: Finding, other: Finding) -> bool:
    return (one.diagnosis, one.message) == (other.diagnosis, other.message)


def _in_phase(finding: Finding, trace: Trace) -> Finding:
    """Return a finding with the step at which its phase begins, and the words to say so."""
    step = _begin(trace)
    makers = [
        maker
        for census in trace.of(ParameterCensus)
        if (maker := made(trace, census.optimizer)) is not None
    ]
    evidence = tuple(
        replace(one, step=max(one.step, step)) if one.step is not None else one
        for one in finding.evidence
    )
    if makers:
        claim = f"seen at step {step}, with which {makers[0].kind} begins"
        evidence = (*evidence, Evidence(claim, step=step, location=makers[0].location))
    return replace(
        finding,
        observed_from=step,
        message=finding.message
        if finding.diagnosis is not None
        else f"{finding.message} (since step {step}, in a later phase of training)",
        step=max(finding.step or 0, step),
        evidence=evidence,
    )


def _begin(trace: Trace) -> int:
    """Return the step at which a phase was looked at."""
    steps = [event.step for event in trace.of(ParameterCensus)]
    steps += [event.step for event in trace.of(LossRoot)]
    return min(steps, default=0)
