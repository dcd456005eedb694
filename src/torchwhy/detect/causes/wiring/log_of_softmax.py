from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import guards
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class LogOfSoftmax(Detector):
    """The logarithm of a softmax is taken in two steps."""

    name = "log-of-softmax"
    needs = frozenset({"graph"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        seen = set()
        for logarithm in graph.operations("log", "log2", "log10"):
            softmax = graph.source(logarithm)
            if softmax is None or base_of(softmax) != "_softmax" or not logarithm.differentiable:
                continue
            if logarithm.location in seen:
                continue
            seen.add(logarithm.location)
            facts = logarithm.facts[0] if logarithm.facts else None
            smallest = (
                f"; the smallest so far is {facts.minimum:.3g}"
                if facts is not None and facts.minimum is not None
                else ""
            )
            yield Finding(
                detector=self.name,
                severity="note",
                message=f"the logarithm is taken of a softmax{smallest}: one that rounds to 0 gives -inf",
                step=0,
                rank=trace.rank,
                location=logarithm.location,
                evidence=(
                    Evidence(
                        f"the softmax is {softmax.location}", step=0, location=softmax.location
                    ),
                ),
                fixes=(Fix("take log_softmax of the logits in one step", safety="show-only"),),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from guards.for_log(finding, source)
