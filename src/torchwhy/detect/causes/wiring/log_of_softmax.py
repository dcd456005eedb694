from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import LOSS_FITS
from torchwhy.detect.fixes.values import guards
from torchwhy.detect.rules.graph_patterns import find
from torchwhy.detect.views.graph.graph_queries import ForwardGraph
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class LogarithmOfSoftmax(Diagnosis):
    """The program takes the logarithm of a softmax, whose values may round to 0."""

    smallest: float | None
    softmax_at: SourceSpan | None
    message = (
        "this is the logarithm of a softmax{so_far}: a probability that rounds to 0 gives -inf"
    )
    advice = "compute log_softmax of the logits in one step"

    @property
    def so_far(self) -> str:
        """Return the smallest probability, if it is known."""
        return "" if self.smallest is None else f" (smallest value so far {self.smallest:.3g})"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"the softmax is {self.softmax_at}", location=self.softmax_at)


class LogOfSoftmax(Detector):
    """The logarithm of a softmax is computed in two steps."""

    name = "log-of-softmax"
    question = LOSS_FITS
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
            yield self.found(
                trace, diagnosis, severity="note", step=logarithm.step, location=logarithm.location
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from guards.for_log(finding.location, source)
