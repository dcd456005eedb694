from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.views.parameters.trained_parameters import (
    kind_of,
    place_of,
    program_died,
    steps_of,
    where,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.events import MicroscopeLeft
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import IdleOptimizer
from torchwhy.source.edits import Source

ENOUGH_BACKWARDS = 3  # a shorter program is a trial of a single batch
ENOUGH_BESIDE_OTHERS = 12  # while another optimizer steps: its turn may come later, after a warm-up

ENOUGH_UNDER_SCALER = 24  # halvings that bring the largest usual scale, 65536, below 0.01


class NeverStepped(Diagnosis):
    """Backward passes give the parameters of an optimizer gradients, and it makes no step."""

    backwards: int
    optimizer: str
    made_at: SourceSpan | None
    message = (
        "backward ran at least {backwards} times, but {optimizer}{where} "
        "never made a step: none of its weights has changed"
    )
    advice = "call optimizer.step() after loss.backward()"

    @property
    def where(self) -> str:
        """Return where the optimizer was made."""
        return where(self.made_at)

    def evidence(self) -> Iterator[Evidence]:
        claim = f"steps of {self.optimizer} in the whole run: 0"
        yield Evidence(claim, value=0.0, location=self.made_at)
        yield Evidence("its parameters have gradients, and their values are those they began with")


class MissingOptimizerStep(Detector):
    """Backward passes are run for the parameters of an optimizer that never makes a step."""

    name = "missing-optimizer-step"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        compiled = any(left.compiled for left in trace.of(MicroscopeLeft))
        if program_died(trace) or compiled:
            return
        last = {event.optimizer: event for event in trace.of(IdleOptimizer)}
        others_step = any(step.optimizer >= 0 for step in trace.steps)
        enough = ENOUGH_BESIDE_OTHERS if others_step else ENOUGH_BACKWARDS
        for index, event in last.items():
            if steps_of(trace, index) or event.backwards < enough:
                continue
            if event.gradients and not event.changed and not _is_held_back(trace, event):
                diagnosis = NeverStepped(
                    backwards=event.backwards,
                    optimizer=kind_of(trace, index),
                    made_at=place_of(trace, index),
                )
                yield self.found(
                    trace, diagnosis, severity="error", step=0, location=event.location
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from loops.add_step(finding.location, source)


def _is_held_back(trace: Trace, event: IdleOptimizer) -> bool:
    """Tell whether a GradScaler may be what keeps an optimizer from stepping: no other steps all the while.

    A scaler that finds infinities halves its scale each time, so it lets none wait as long as this.
    """
    if not event.scaled:
        return False
    others = sum(step.step <= event.step and step.optimizer >= 0 for step in trace.steps)
    return event.backwards < ENOUGH_UNDER_SCALER or 2 * others < event.backwards
