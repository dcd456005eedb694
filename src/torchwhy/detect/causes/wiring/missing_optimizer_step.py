from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import UPDATES
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.views.parameters.trained_parameters import (
    ended_early,
    kind_of,
    place_of,
    steps_of,
    where,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.events import CompilerEntered
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import IdleOptimizer
from torchwhy.source.edits import Source

ENOUGH_BACKWARDS = 3  # A shorter program only tries out a single batch.
ENOUGH_BESIDE_OTHERS = (
    12  # While another optimizer steps, this one may start later, after a warm-up.
)
ENOUGH_UNDER_SCALER = 24  # That many halvings bring the largest usual scale, 65536, below 0.01.


class NeverStepped(Diagnosis):
    """Backward passes give the parameters of an optimizer gradients, but it makes no step."""

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
        """Return where the program creates the optimizer."""
        return where(self.made_at)

    def evidence(self) -> Iterator[Evidence]:
        claim = f"steps of {self.optimizer} in the whole run: 0"
        yield Evidence(claim, value=0.0, location=self.made_at)
        yield Evidence("its parameters have gradients and still have their initial values")


class MissingOptimizerStep(Detector):
    """Backward passes compute gradients for an optimizer that never makes a step."""

    name = "missing-optimizer-step"
    question = UPDATES

    def scan(self, trace: Trace) -> Iterator[Finding]:
        compiled = bool(trace.of(CompilerEntered))
        if ended_early(trace) or compiled:
            return
        last = {event.optimizer: event for event in trace.of(IdleOptimizer)}
        others_step = any(step.optimizer >= 0 for step in trace.steps)
        enough = ENOUGH_BESIDE_OTHERS if others_step else ENOUGH_BACKWARDS
        for index, event in last.items():
            if steps_of(trace, index) or event.backwards < enough:
                continue
            if event.gradients and not event.changed and not _is_held_back(trace, event):
                since = max(event.step - event.backwards + 1, 0)
                diagnosis = NeverStepped(
                    backwards=event.backwards,
                    optimizer=kind_of(trace, index),
                    made_at=place_of(trace, index),
                )
                yield self.found(
                    trace, diagnosis, severity="error", step=since, location=event.location
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from loops.add_step(finding.location, source)


def _is_held_back(trace: Trace, event: IdleOptimizer) -> bool:
    """Tell whether a GradScaler may keep an optimizer from stepping: it skips the steps of all others, too.

    A scaler that finds infinities halves its scale each time, so it does not skip `ENOUGH_UNDER_SCALER` steps.
    """
    if not event.scaled:
        return False
    others = sum(step.step <= event.step and step.optimizer >= 0 for step in trace.steps)
    return event.backwards < ENOUGH_UNDER_SCALER or 2 * others < event.backwards
