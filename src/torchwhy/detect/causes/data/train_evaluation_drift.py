from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.data.evaluation_data import QUESTION
from torchwhy.detect.views.inputs.field_scales import Comparison, compared
from torchwhy.detect.views.inputs.loaders_seen import evaluating, made_at, name_of, training
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.inputs.data_events import LoaderSeen
from torchwhy.record.trace import Trace


class PreparedDifferently(Diagnosis):
    """A field of the evaluation data has another scale or another centre than in training."""

    training: str
    evaluation: str
    field: str
    training_mean: float
    training_deviation: float
    evaluation_mean: float
    evaluation_deviation: float
    training_range: list[float]
    evaluation_range: list[float]
    message = (
        "{field} of `{evaluation}` has mean {evaluation_mean:.3g} and standard deviation {evaluation_deviation:.3g}, "
        "that of `{training}`, which the model is trained on, {training_mean:.3g} and {training_deviation:.3g}"
    )
    advice = "prepare both alike: the same normalisation, with the mean and standard deviation of the training data"

    def evidence(self) -> Iterator[Evidence]:
        low, high = self.training_range
        yield Evidence(f"in training its values go from {low:.3g} to {high:.3g}", value=high)
        low, high = self.evaluation_range
        yield Evidence(f"in evaluation they go from {low:.3g} to {high:.3g}", value=high)


class TrainEvaluationDrift(Detector):
    """Evaluation data are scaled or normalised in another way than training data."""

    name = "train-evaluation-drift"
    question = QUESTION
    symptom = "evaluation"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for trained in training(trace):
            beside = [one for one in evaluating(trace) if trained.number in one.after]
            judged = [(one, compared(trained, one)) for one in beside]
            # If one set agrees with the training data, the others are of another kind on purpose.
            if any(found and not any(f.differs for f in found) for _, found in judged):
                continue
            for evaluation, found in judged:
                differing = next((one for one in found if one.differs), None)
                if differing is not None:
                    yield self._finding(trace, trained, evaluation, differing)
                    return

    def _finding(
        self, trace: Trace, trained: LoaderSeen, evaluation: LoaderSeen, found: Comparison
    ) -> Finding:
        diagnosis = PreparedDifferently(
            training=name_of(trained),
            evaluation=name_of(evaluation),
            field=found.training.path,
            training_mean=found.trained.mean,
            training_deviation=found.trained.deviation,
            evaluation_mean=found.evaluated.mean,
            evaluation_deviation=found.evaluated.deviation,
            training_range=[found.trained.minimum, found.trained.maximum],
            evaluation_range=[found.evaluated.minimum, found.evaluated.maximum],
        )
        return self.found(
            trace,
            diagnosis,
            severity="warning",
            step=None,
            location=made_at(trace, evaluation),
        )
