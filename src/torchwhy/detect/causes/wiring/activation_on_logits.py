from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.views.graph.graph_queries import (
    ELEMENTWISE,
    ForwardGraph,
    base_of,
    expression_of,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import GraphOperation
from torchwhy.record.tensors import TensorFacts
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

# What an activation can give at all.
RANGES = {
    "relu": (0.0, float("inf")),
    "softplus": (0.0, float("inf")),
    "sigmoid": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "_softmax": (0.0, 1.0),
}
BEFORE_CROSS_ENTROPY = {"relu", "sigmoid", "tanh"}
BEFORE_LOGITS_LOSS = {"relu", "tanh", "softplus"}
ERRORS = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}
DIFFERENCES = {"sub", "rsub"}
OUTSIDE = 0.1  # share of the targets' own range that must lie outside: noise around the edge is no mistake


class ActivationOnLogits(Detector):
    """The last layer has an activation that the loss does not want."""

    name = "activation-on-logits"
    needs = frozenset({"graph"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        for loss in graph.operations():
            base = base_of(loss)
            if base == "_log_softmax" and _feeds_likelihood(graph, loss):
                yield from self._logits(trace, graph, loss, BEFORE_CROSS_ENTROPY)
            elif base == "binary_cross_entropy_with_logits":
                yield from self._logits(trace, graph, loss, BEFORE_LOGITS_LOSS)
            elif base in ERRORS or (base in DIFFERENCES and graph.goes_to_loss(loss, ELEMENTWISE)):
                yield from self._regression(trace, graph, loss)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from modules.without_activation(finding, source, "relu", "sigmoid", "tanh", "softmax")

    def _logits(
        self, trace: Trace, graph: ForwardGraph, loss: GraphOperation, wrong: set[str]
    ) -> Iterator[Finding]:
        source = graph.source(loss)
        if source is None or base_of(source) not in wrong or not graph.trains(source):
            return
        name = base_of(source)
        low, high = RANGES[name]
        limits = "cannot be below 0" if high == float("inf") else f"cannot leave {low:g}…{high:g}"
        yield self._finding(
            trace,
            loss,
            source,
            message=f"the logits of this loss come out of a {name}: they {limits}",
            facts=loss.facts[0] if loss.facts else None,
            what="the logits",
        )

    def _regression(
        self, trace: Trace, graph: ForwardGraph, loss: GraphOperation
    ) -> Iterator[Finding]:
        for prediction, target in ((0, 1), (1, 0)):
            source = graph.source(loss, prediction)
            if source is None or base_of(source) not in RANGES or len(loss.facts) < 2:
                continue
            if not graph.operand_trains(loss, prediction) or graph.operand_trains(loss, target):
                continue
            facts = loss.facts[target]
            outside = _outside(facts, RANGES[base_of(source)])
            if outside is None:
                continue
            yield self._finding(
                trace,
                loss,
                source,
                message=f"the prediction comes out of a {base_of(source)}, which cannot follow the targets {outside}",
                facts=facts,
                what="the targets",
            )

    def _finding(
        self,
        trace: Trace,
        loss: GraphOperation,
        source: GraphOperation,
        *,
        message: str,
        facts: TensorFacts | None,
        what: str,
    ) -> Finding:
        name = expression_of(source.location, "the activation")
        evidence = [
            Evidence(
                f"the activation is {name}, with nothing between it and the loss",
                step=0,
                location=source.location,
            )
        ]
        if facts is not None and facts.minimum is not None and facts.maximum is not None:
            evidence.append(
                Evidence(
                    f"{what} of the first batch lie in {facts.minimum:.3g}…{facts.maximum:.3g}",
                    step=0,
                )
            )
        return Finding(
            detector=self.name,
            severity="warning",
            message=message,
            step=0,
            rank=trace.rank,
            location=loss.location,
            evidence=tuple(evidence),
            fixes=(Fix("remove the activation after the last layer", safety="show-only"),),
        )


def _feeds_likelihood(graph: ForwardGraph, operation: GraphOperation) -> bool:
    """Tell whether a log-softmax is that of a loss and not of an attention."""
    taken = {base_of(consumer) for consumer in graph.taken_by(operation)}
    return bool(taken & {"nll_loss_forward", "nll_loss2d_forward", "gather", "index", "mul"})


def _outside(facts: TensorFacts, limits: tuple[float, float]) -> str | None:
    """Return how far the targets leave a range, None if they do not by a good part of their own range."""
    if facts.minimum is None or facts.maximum is None:
        return None
    width = facts.maximum - facts.minimum
    low, high = limits
    if width > 0 and facts.minimum < low - OUTSIDE * width:
        return f"down to {facts.minimum:.3g}"
    if width > 0 and facts.maximum > high + OUTSIDE * width:
        return f"up to {facts.maximum:.3g}"
    return None
