from __future__ import annotations

import math
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import LOSS_FITS
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of, expression_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, SourceSpan
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace

SCALED = {"mul", "div"}


class DiagonalCounts(Diagnosis):
    """Each row is compared with itself, and the loss counts that as a wrong answer."""

    similarity: str
    rows: int
    loss_at: SourceSpan | None
    message = (
        "the diagonal of {similarity} is not masked: each of the {rows} rows has its largest similarity with itself, "
        "and the loss counts that as a wrong answer"
    )
    advice = "mask the diagonal before the loss: sim.masked_fill_(torch.eye(n, dtype=torch.bool), float('-inf'))"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "both factors are the same normalised tensor, so the diagonal is the largest value there is, "
            "and each label is another column",
            location=self.loss_at,
        )


class SelfAsNegative(Detector):
    """A contrastive loss has each sample's similarity with itself among the negatives."""

    name = "self-as-negative"
    question = LOSS_FITS
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        for loss in graph.operations("nll_loss_forward"):
            product = _similarities(graph, graph.source(loss))
            if product is None or _is_diagonal(graph, loss):
                continue
            diagnosis = DiagonalCounts(
                similarity=expression_of(product.location, "the similarities"),
                rows=product.shape[0],
                loss_at=loss.location,
            )
            yield self.found(
                trace,
                diagnosis,
                severity="warning",
                step=loss.step,
                location=product.location,
                symptom_at=loss.location,
            )
            return


def _similarities(graph: ForwardGraph, log_softmax: GraphOperation | None) -> GraphOperation | None:
    """Return the product of a normalised tensor with itself that goes into a log_softmax unmasked."""
    if log_softmax is None or base_of(log_softmax) != "_log_softmax":
        return None
    made = graph.source(log_softmax)
    while made is not None and base_of(made) in SCALED and _is_by_number(made):
        made = graph.source(made)
    if made is None or base_of(made) != "mm" or len(set(made.inputs)) != 1:
        return None
    is_square = len(made.shape) == 2 and made.shape[0] == made.shape[1] == log_softmax.shape[0]
    return made if is_square and _is_normalised(graph, graph.source(made)) else None


def _is_by_number(scaled: GraphOperation) -> bool:
    """Tell whether a product or quotient has a single number beside the tensor, such as a temperature."""
    return all(math.prod(shape) == 1 for shape in scaled.input_shapes[1:])


def _is_normalised(graph: ForwardGraph, made: GraphOperation | None) -> bool:
    """Tell whether a tensor is divided by its own norm along the last dimension."""
    if made is None or base_of(made) != "div" or len(made.inputs) != 2:
        return False
    above = graph.source(made, 1)
    while above is not None and base_of(above) in ("clamp_min", "add", "clamp"):
        above = graph.source(above)
    if above is None or base_of(above) != "linalg_vector_norm":
        return False
    axes = above.scalars.get("2")
    return above.inputs[:1] == made.inputs[:1] and axes in ([1], [-1])


def _is_diagonal(graph: ForwardGraph, loss: GraphOperation) -> bool:
    """Tell whether a label is the diagonal itself, or labels are of unknown origin."""
    return graph.source(loss, 1) is None or len(loss.facts) < 2 or loss.facts[1].own_rows > 0
