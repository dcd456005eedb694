from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import LOSS_FITS
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of, expression_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace

DRAWS = ("randn", "randn_like", "normal", "normal_functional")
SUMS = {"add", "sub", "rsub"}
SQUARES = {"pow", "square"}


@dataclass(frozen=True)
class Sampled:
    """A value drawn as mean + exp(v) · noise, and the term exp(v) of the loss."""

    scaled: GraphOperation
    term: GraphOperation


class VarianceScales(Diagnosis):
    """Noise is multiplied with what the divergence takes for the variance."""

    scaled: str
    term: str
    term_at: SourceSpan | None
    message = (
        "{scaled} multiplies the noise with the variance, not with the standard deviation: "
        "the divergence in the loss takes {term} for the variance"
    )
    advice = "scale the noise by the standard deviation: torch.exp(0.5 * logvar)"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "both are the exponential of the same tensor, so one of them is not what it is taken for",
            location=self.term_at,
        )


class VarianceForDeviation(Detector):
    """A variational model scales its noise by the variance."""

    name = "variance-for-deviation"
    question = LOSS_FITS
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        found = next(_sampled(graph), None)
        if found is None:
            return
        diagnosis = VarianceScales(
            scaled=expression_of(found.scaled.location, "a product"),
            term=expression_of(found.term.location, "the same exponential"),
            term_at=found.term.location,
        )
        yield self.found(
            trace,
            diagnosis,
            severity="warning",
            step=found.scaled.step,
            location=found.scaled.location,
            symptom_at=found.term.location,
        )


def _sampled(graph: ForwardGraph) -> Iterator[Sampled]:
    """Yield the draws mean + exp(v) · noise whose loss has a sum of mean², exp(v) and v."""
    for scaled in graph.operations("mul"):
        made = graph.sources(scaled)
        exponential = next((one for one in made if one is not None and base_of(one) == "exp"), None)
        draws = [one for one in made if one is not None and base_of(one) in DRAWS]
        if exponential is None or not draws or not graph.trains(exponential):
            continue
        logarithm = exponential.inputs[0]
        shifted = [one for one in graph.consumers_of(scaled) if base_of(one) == "add"]
        means = {order for one in shifted for order in one.inputs} - {scaled.order}
        for other in graph.operations("exp"):
            if other.inputs[:1] == [logarithm] and _is_variance(graph, other, logarithm, means):
                yield Sampled(scaled, other)


def _is_variance(
    graph: ForwardGraph, exponential: GraphOperation, logarithm: int, means: set[int]
) -> bool:
    """Tell whether an exponential is added to mean² and to its own logarithm, as in the divergence of a normal."""
    for total in graph.consumers_of(exponential):
        if base_of(total) not in SUMS:
            continue
        above = [one for one in _terms(graph, total) if one.order != exponential.order]
        squares = [one for one in above if base_of(one) in SQUARES and one.inputs[0] in means]
        multiplied = [one for one in above if base_of(one) == "mul" and set(one.inputs) & means]
        has_logarithm = any(one.order == logarithm for one in above)
        if (squares or multiplied) and has_logarithm:
            return True
    return False


def _terms(graph: ForwardGraph, total: GraphOperation) -> list[GraphOperation]:
    """Return the terms of a sum, before and behind this addition."""
    found, waiting, seen = [], [total], set()
    while waiting:
        current = waiting.pop()
        if current.order in seen:
            continue
        seen.add(current.order)
        found.append(current)
        if base_of(current) in SUMS:
            waiting += [
                one for order in current.inputs if (one := graph.operation(order)) is not None
            ]
            waiting += [one for one in graph.consumers_of(current) if base_of(one) in SUMS]
    return found
