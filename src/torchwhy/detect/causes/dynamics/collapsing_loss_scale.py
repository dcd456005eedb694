from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import FINITE
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.events import ScaleChanged
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

HALVINGS = 12  # From 65536 to 16 without a break. Healthy runs halve the scale two or three times and then hold it.
ABSURD = 1.0  # A scale below 1 shrinks gradients instead of protecting them from underflow.


class ScaleCollapses(Diagnosis):
    """The loss scale fell without a break because the gradients were never finite."""

    scales: list[float]
    last: float
    message = (
        "the loss scale fell from {first:g} to {last:.3g}, halved {halvings} times in a row: the gradients were "
        "never finite, so every step was skipped"
    )
    advice = "run one step without GradScaler: torchwhy then names the operation that makes the gradient infinite"

    @property
    def first(self) -> float:
        """Return the scale before the fall."""
        return self.scales[0]

    @property
    def halvings(self) -> int:
        """Return how many times in a row the scale was halved."""
        return len(self.scales) - 1

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence("loss scale", value=self.last, series=tuple(self.scales))


class CollapsingLossScale(Detector):
    """GradScaler keeps halving its scale because the gradients are never finite, and skips every step."""

    name = "collapsing-loss-scale"
    question = FINITE
    symptom = "nonfinite"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        changes = trace.of(ScaleChanged)
        if trace.alarms or not changes:
            return
        falling = _longest_fall(changes)
        fall = [decode(change.scale) for change in falling]
        last = decode(changes[-1].scale)
        if len(fall) <= HALVINGS and last >= ABSURD:
            return
        if last >= ABSURD and any(step.step >= falling[-1].step for step in trace.steps):
            return  # A step after the fall means that the scale held and training went on: GradScaler skips bad steps.
        yield self.found(
            trace,
            ScaleCollapses(scales=fall, last=last),
            severity="error",
            step=changes[0].step,
            location=next(
                (change.location for change in changes if change.location is not None), None
            ),
        )


def _longest_fall(changes: list[ScaleChanged]) -> list[ScaleChanged]:
    """Return the longest run of changes in which each scale is lower than the one before."""
    best: list[ScaleChanged] = []
    run: list[ScaleChanged] = []
    for change in changes:
        run = [*run, change] if run and decode(change.scale) < decode(run[-1].scale) else [change]
        if len(run) >= len(best):
            best = run
    return best
