from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import LOSS_FITS
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.rules.graph_patterns import find
from torchwhy.detect.views.graph.graph_queries import (
    ForwardGraph,
    base_of,
    expression_of,
    range_given,
)
from torchwhy.detect.views.graph.layer_places import place_of_activation
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class SigmoidTwice(Diagnosis):
    """A loss that applies a sigmoid to its input gets the result of a sigmoid or softmax."""

    sigmoid: str
    activation: str
    sigmoid_at: SourceSpan | None
    loss_at: SourceSpan | None
    given: tuple[float, float] | None
    message = "{sigmoid} already applies a {activation}, and the loss applies {another}"

    @property
    def another(self) -> str:
        """Return what the loss applies, after the same or another function."""
        return "another" if self.activation == "sigmoid" else "a sigmoid to its result"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (
            f"remove the {self.activation} from the model and pass its logits to the loss",
            "keep the sigmoid and use BCELoss"
            if self.activation == "sigmoid"
            else "use cross_entropy on the logits if each sample has exactly one label",
        )

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence("the loss applies a sigmoid to its input", location=self.loss_at)
        if self.given is not None:
            low, high = self.given
            yield Evidence(
                f"the values that the loss takes for logits lie in {low:.3g}…{high:.3g}; "
                "after its own sigmoid no probability can be below 0.5 or above 0.73"
            )


class SigmoidBeforeBceWithLogits(Detector):
    """The model ends in a sigmoid, and the loss applies a sigmoid again."""

    name = "sigmoid-before-bce-with-logits"
    question = LOSS_FITS
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        pattern = "param → sigmoid|_softmax|_safe_softmax → binary_cross_entropy_with_logits|log_sigmoid_forward"
        for sigmoid, loss in find(ForwardGraph(trace), pattern):
            place = place_of_activation(trace, sigmoid)
            kind = "sigmoid" if base_of(sigmoid) == "sigmoid" else "softmax"
            diagnosis = SigmoidTwice(
                sigmoid=expression_of(place, "the model"),
                activation=kind,
                sigmoid_at=place,
                loss_at=loss.location,
                given=range_given(loss),
            )
            yield self.found(
                trace,
                diagnosis,
                severity="warning",
                step=loss.step,
                location=place,
                symptom_at=loss.location,
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case SigmoidTwice(sigmoid_at=sigmoid, loss_at=loss, activation=kind):
                places = [sigmoid, loss]
                yield from modules.without_activation(places, source, kind)
