from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.events import ScaleChanged
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

HALVINGS = 12  # in a row, from 65536 to 16: healthy runs halve two or three times and then stay
ABSURD = 1.0  # a scale below 1 makes small gradients smaller still: it can only be a last resort


class ScaleCollapses(Diagnosis):
    """A loss scale that fell without a break because the gradients were never finite."""

    scales: list[float]
    last: float
    message = (
        "the loss scale fell from {first:g} to {last:.3g}, halved {halvings} times in a row: the gradients were "
        "never finite, so every step was skipped"
    )
    advice = "run a step without GradScaler: torchwhy then shows which operation makes the gradient infinite"

    @property
    def first(self) -> float:
        """Return the scale before the fall."""
        return self.scales[0]

    @property
    def halvings(self) -> int:
        """Return how often in a row the scale was halved."""
        return len(self.scales) - 1

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence("loss scale", value=self.last, series=tuple(self.scales))


class CollapsingLossScale(Detector):
    """The GradScaler halves its scale again and again, because the gradients are never finite: no step is made."""

    name = "collapsing-loss-scale"
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
            return  # it came down, and then held: a skipped step is no step, so training goes on
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
    """Return the longest stretch in which each scale is lower than the one before."""
    best: list[ScaleChanged] = []
    run: list[ScaleChanged] = []
    for change in changes:
        run = [*run, change] if run and decode(change.scale) < decode(run[-1].scale) else [change]
        if len(run) >= len(best):
            best = run
    return best
