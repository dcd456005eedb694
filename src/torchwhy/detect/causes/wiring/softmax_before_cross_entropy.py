from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import LOSS_FITS
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.rules.graph_patterns import find
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, range_given
from torchwhy.detect.views.graph.layer_places import place_of_activation
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class SoftmaxTwice(Diagnosis):
    """A cross entropy, which applies a softmax to its input, gets the result of a softmax."""

    classes: int
    loss_at: SourceSpan | None
    softmax_at: SourceSpan | None
    given: tuple[float, float] | None
    message = "cross entropy over {classes} classes applies a softmax to the result of a softmax"
    advice = "remove the softmax from the model and pass its logits to the loss"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence("the loss applies a softmax to its input", location=self.loss_at)
        if self.softmax_at is not None:
            made = f"its input is the result of {self.softmax_at.expression}"
            yield Evidence(made, location=self.softmax_at)
        if self.given is not None:
            low, high = self.given
            yield Evidence(f"the input lies in {low:.3g}…{high:.3g}: probabilities, not logits")


class SoftmaxBeforeCrossEntropy(Detector):
    """The model ends in a softmax, and the loss applies a softmax again."""

    name = "softmax-before-cross-entropy"
    question = LOSS_FITS
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        pattern = "param → _softmax|_safe_softmax → _log_softmax"
        for softmax, loss in find(ForwardGraph(trace), pattern):
            place = place_of_activation(trace, softmax)
            diagnosis = SoftmaxTwice(
                classes=loss.shape[-1] if loss.shape else 0,
                loss_at=loss.location,
                softmax_at=place,
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
            case SoftmaxTwice(loss_at=loss, softmax_at=softmax):
                yield from modules.without_activation([loss, softmax], source, "softmax")
