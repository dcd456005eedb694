from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of, expression_of
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class SigmoidBeforeBceWithLogits(Detector):
    """The model ends in a sigmoid, and the loss takes a sigmoid again."""

    name = "sigmoid-before-bce-with-logits"
    needs = frozenset({"graph"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        for loss in graph.operations("binary_cross_entropy_with_logits", "log_sigmoid_forward"):
            sigmoid = graph.source(loss)
            if sigmoid is None or base_of(sigmoid) != "sigmoid" or not graph.trains(sigmoid):
                continue
            given = expression_of(sigmoid.location, "what it gets")
            yield Finding(
                detector=self.name,
                severity="warning",
                message=f"{given} is a sigmoid already, and this loss takes a sigmoid again",
                step=0,
                rank=trace.rank,
                location=loss.location,
                evidence=tuple(_facts(loss, sigmoid)),
                fixes=(
                    Fix(
                        "remove the sigmoid from the model and give the loss its logits",
                        safety="show-only",
                    ),
                    Fix("or keep the sigmoid and use BCELoss", safety="show-only"),
                ),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from modules.without_activation(finding, source, "sigmoid")


def _facts(loss: GraphOperation, sigmoid: GraphOperation) -> Iterator[Evidence]:
    yield Evidence("the sigmoid is taken here", step=0, location=sigmoid.location)
    facts = loss.facts[0] if loss.facts else None
    if facts is not None and facts.minimum is not None and facts.maximum is not None:
        yield Evidence(
            f"what the loss got as logits lies in {facts.minimum:.3g}…{facts.maximum:.3g}; "
            "after its own sigmoid no probability can be below 0.5 or above 0.73",
            step=0,
        )
