"""Each look of the microscope is read on its own: the first one, and those at optimizers that begin later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.wiring import made
from torchwhy.finding import Evidence, Finding
from torchwhy.record.learning import LossRoot, ParameterCensus
from torchwhy.record.trace import Trace

LATER = "in a later phase of training"


def begin_of_phase(finding: Finding) -> int:
    """Return the step at which the phase of a finding begins; 0 for one of the whole run."""
    return finding.step or 0 if finding.message.endswith(f"{LATER})") else 0


def findings_of(detector: Detector, trace: Trace) -> Iterator[Finding]:
    """Yield what a detector finds in a trace, and in each later phase what it has not found in an earlier one."""
    found = list(detector.scan(trace))
    yield from found
    if not detector.every_phase:
        return
    for later in trace.later_looks:
        known = {_line_of(one) for one in found} | {one.message for one in found}
        fresh = [
            one
            for one in detector.scan(later)
            if _line_of(one) not in known and one.message not in known
        ]
        found += fresh
        yield from (_in_phase(one, later) for one in fresh)


def _line_of(finding: Finding) -> object:
    place = finding.location
    return (place.file, place.line) if place is not None else finding.message


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
        message=f"{finding.message} (since step {step}, {LATER})",
        step=max(finding.step or 0, step),
        evidence=evidence,
    )


def _begin(trace: Trace) -> int:
    """Return the step at which a phase was looked at."""
    steps = [event.step for event in trace.of(ParameterCensus)]
    steps += [event.step for event in trace.of(LossRoot)]
    return min(steps, default=0)
