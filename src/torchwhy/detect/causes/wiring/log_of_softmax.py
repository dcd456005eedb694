from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import guards
from torchwhy.detect.rules.graph_patterns import find
from torchwhy.detect.views.graph.graph_queries import ForwardGraph
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class LogarithmOfSoftmax(Diagnosis):
    """A logarithm is taken of a softmax, which may round to 0."""

    smallest: float | None
    softmax_at: SourceSpan | None
    message = "the logarithm is taken of a softmax{so_far}: one that rounds to 0 gives -inf"
    advice = "take log_softmax of the logits in one step"

    @property
    def so_far(self) -> str:
        """Return the smallest value that was seen."""
        return "" if self.smallest is None else f"; the smallest so far is {self.smallest:.3g}"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"the softmax is {self.softmax_at}", step=0, location=self.softmax_at)


class LogOfSoftmax(Detector):
    """The logarithm of a softmax is taken in two steps."""

    name = "log-of-softmax"
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        seen = set()
        for softmax, logarithm in find(ForwardGraph(trace), "_softmax → log|log2|log10"):
            if not logarithm.differentiable or logarithm.location in seen:
                continue
            seen.add(logarithm.location)
            facts = logarithm.facts[0] if logarithm.facts else None
            diagnosis = LogarithmOfSoftmax(
                smallest=facts.minimum if facts is not None else None, softmax_at=softmax.location
            )
            yield self.found(trace, diagnosis, severity="note", step=0, location=logarithm.location)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from guards.for_log(finding.location, source)
