from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.rules.graph_patterns import find
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, expression_of, range_given
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class SigmoidTwice(Diagnosis):
    """A loss that takes a sigmoid of its input is given a sigmoid."""

    sigmoid: str
    sigmoid_at: SourceSpan | None
    given: tuple[float, float] | None
    message = "{sigmoid} is a sigmoid already, and this loss takes a sigmoid again"

    @property
    def remedies(self) -> tuple[str, ...]:
        return (
            "remove the sigmoid from the model and give the loss its logits",
            "or keep the sigmoid and use BCELoss",
        )

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence("the sigmoid is taken here", step=0, location=self.sigmoid_at)
        if self.given is not None:
            low, high = self.given
            yield Evidence(
                f"what the loss got as logits lies in {low:.3g}…{high:.3g}; "
                "after its own sigmoid no probability can be below 0.5 or above 0.73",
                step=0,
            )


class SigmoidBeforeBceWithLogits(Detector):
    """The model ends in a sigmoid, and the loss takes a sigmoid again."""

    name = "sigmoid-before-bce-with-logits"
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        pattern = "param → sigmoid → binary_cross_entropy_with_logits|log_sigmoid_forward"
        for sigmoid, loss in find(ForwardGraph(trace), pattern):
            diagnosis = SigmoidTwice(
                sigmoid=expression_of(sigmoid.location, "what it gets"),
                sigmoid_at=sigmoid.location,
                given=range_given(loss),
            )
            yield self.found(trace, diagnosis, severity="warning", step=0, location=loss.location)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case SigmoidTwice(sigmoid_at=sigmoid):
                places = [sigmoid, finding.location]
                yield from modules.without_activation(places, source, "sigmoid")
