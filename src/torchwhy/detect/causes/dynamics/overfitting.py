from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from msgspec.structs import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import GENERALISES
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.training import Training, is_lower, trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.learning import Evaluated
from torchwhy.record.trace import Trace

FEWEST = 6  # A curve of fewer evaluations does not show a turn.
LAST = 3  # The median of the last three evaluations is the end of the curve.
ROSE = 1.3  # The end of the curve over its lowest point; evaluations of healthy runs waver by less.


class EvaluationTurned(Diagnosis):
    """The evaluation loss rises from its lowest point while the training loss keeps falling."""

    best_step: int
    best: float
    end: float
    training_loss: float
    message = (
        "the evaluation loss was lowest at step {best_step} ({best:.3g}) and is now {end:.3g}, while the "
        "training loss kept falling to {training_loss:.3g}"
    )
    advice = (
        "stop early and keep the weights of step {best_step}, or add data, dropout or weight decay"
    )


class Overfitting(Detector):
    """The evaluation loss has turned upwards while the training loss keeps falling."""

    name = "overfitting"
    question = GENERALISES
    symptom = "evaluation"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if trace.alarms:
            return
        for evaluated in trace.of(Evaluated):
            for training in trainings(trace):
                curve = _during(evaluated, training)
                lowest = _turn(curve)
                if lowest is not None and _still_learning(training, curve.steps[lowest]):
                    yield self._finding(trace, training, curve, lowest)
                    return

    def _finding(self, trace: Trace, training: Training, curve: Evaluated, lowest: int) -> Finding:
        best, end = curve.values[lowest], median(curve.values[-LAST:])
        diagnosis = EvaluationTurned(
            best_step=curve.steps[lowest],
            best=best,
            end=end,
            training_loss=training.values[-1],
        )
        return self.found(
            trace,
            diagnosis,
            severity="note",
            step=curve.steps[lowest],
            location=curve.location,
            evidence=(
                Evidence("loss in evaluation", value=end, series=tuple(curve.values)),
                loss_curve(training),
            ),
        )


def _during(curve: Evaluated, training: Training) -> Evaluated:
    """Return the evaluations between the first and last step of an optimizer; others may be of another model.

    Return none if several optimizers step in turn.
    """
    if not training.alone or not training.losses:
        return replace(curve, steps=[], values=[])
    first, last = training.losses[0][0], training.losses[-1][0]
    own = [place for place, step in enumerate(curve.steps) if first < step <= last + 1]
    return replace(
        curve,
        steps=[curve.steps[place] for place in own],
        values=[curve.values[place] for place in own],
    )


def _turn(curve: Evaluated) -> int | None:
    """Return the index of the lowest evaluation loss, if the loss rose from there and stayed up."""
    if len(curve.values) < FEWEST:
        return None
    lowest = min(range(len(curve.values)), key=curve.values.__getitem__)
    if lowest >= len(curve.values) - LAST or not curve.values[lowest] > 0:
        return None
    return lowest if median(curve.values[-LAST:]) >= ROSE * curve.values[lowest] else None


def _still_learning(training: Training, turn: int) -> bool:
    """Tell whether the training loss kept falling after the evaluation loss turned."""
    before = [loss for step, loss in training.losses if step <= turn][-20:]
    after = [loss for step, loss in training.losses if step > turn]
    return is_lower(after[len(after) // 2 :], than=before)
