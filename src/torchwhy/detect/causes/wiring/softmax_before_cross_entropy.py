from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class SoftmaxBeforeCrossEntropy(Detector):
    """The model ends in a softmax, and the loss takes a softmax again."""

    name = "softmax-before-cross-entropy"
    needs = frozenset({"graph"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        for loss in graph.operations("_log_softmax"):
            softmax = graph.source(loss)
            if (
                softmax is None
                or base_of(softmax) not in ("_softmax", "_safe_softmax")
                or not graph.trains(softmax)
            ):
                continue
            classes = loss.shape[-1] if loss.shape else 0
            facts = loss.facts[0] if loss.facts else None
            evidence = [
                Evidence(
                    "the loss takes the softmax of its input once more",
                    step=0,
                    location=loss.location,
                )
            ]
            if softmax.location is not None:
                evidence.append(
                    Evidence(
                        f"its input is the result of {softmax.location.expression}",
                        step=0,
                        location=softmax.location,
                    )
                )
            if facts is not None and facts.minimum is not None and facts.maximum is not None:
                evidence.append(
                    Evidence(
                        f"that input lies in {facts.minimum:.3g}…{facts.maximum:.3g}: probabilities, not logits",
                        step=0,
                    )
                )
            yield Finding(
                detector=self.name,
                severity="warning",
                message=f"cross entropy over {classes} classes takes a softmax of what is a softmax already",
                step=0,
                rank=trace.rank,
                location=loss.location,
                evidence=tuple(evidence),
                fixes=(
                    Fix(
                        "remove the softmax from the model and give the loss its logits",
                        safety="show-only",
                    ),
                ),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from modules.without_activation(finding, source, "softmax")
