from __future__ import annotations

import math
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import LOSS_FITS
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.rules.graph_patterns import find
from torchwhy.detect.views.graph.graph_queries import (
    ELEMENTWISE,
    ForwardGraph,
    base_of,
    expression_of,
    range_given,
)
from torchwhy.detect.views.graph.layer_places import place_of_activation
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

# The range of values that each activation can return.
RANGES = {
    "relu": (0.0, math.inf),
    "softplus": (0.0, math.inf),
    "sigmoid": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "_softmax": (0.0, 1.0),
}
# The operations after a log-softmax that make it part of a loss; without them it belongs to an attention.
BEFORE_LOGITS = (
    "param → relu|sigmoid|tanh → _log_softmax ⇢ nll_loss_forward|nll_loss2d_forward|gather|index|mul",
    "param → relu|tanh|softplus → binary_cross_entropy_with_logits",
)
ERRORS = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}
DIFFERENCES = {"sub", "rsub"}
# Targets must leave the activation's range by this share of their own range: noise at the edge is harmless.
OUTSIDE = 0.1


class ActivationBeforeLoss(Diagnosis):
    """An activation sits between the last layer and the loss; `measured` is the range of the logits or targets."""

    activation: str
    written: str
    activation_at: SourceSpan | None
    loss_at: SourceSpan | None
    measured: tuple[float, float] | None
    advice = "remove the activation after the last layer"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{self.written} is applied directly before the loss",
            location=self.loss_at,
        )


class LimitedLogits(ActivationBeforeLoss):
    """The logits come from an activation, so they cannot take every value."""

    message = "the logits of the loss come from a {activation}, so they {limits}"

    @property
    def limits(self) -> str:
        """Return which values the logits cannot take."""
        low, high = RANGES[self.activation]
        return "cannot be below 0" if high == math.inf else f"cannot leave {low:g}…{high:g}"

    def evidence(self) -> Iterator[Evidence]:
        yield from super().evidence()
        if self.measured is not None:
            low, high = self.measured
            yield Evidence(f"the logits of the first batch lie in {low:.3g}…{high:.3g}")


class TargetsOutOfReach(ActivationBeforeLoss):
    """The targets leave the range of the activation that returns the predictions."""

    measured: tuple[float, float]
    is_below: bool
    message = "the prediction comes from a {activation}, which cannot reach targets {where}"

    @property
    def where(self) -> str:
        """Return how far the targets go beyond the range."""
        low, high = self.measured
        return f"down to {low:.3g}" if self.is_below else f"up to {high:.3g}"

    def evidence(self) -> Iterator[Evidence]:
        yield from super().evidence()
        low, high = self.measured
        yield Evidence(f"the targets of the first batch lie in {low:.3g}…{high:.3g}")


class ActivationOnLogits(Detector):
    """The last layer has an activation that does not suit the loss."""

    name = "activation-on-logits"
    question = LOSS_FITS
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        judged = [*_logits(trace, graph), *_regressions(trace, graph)]
        for loss, diagnosis in sorted(judged, key=lambda one: one[0].order):
            yield self.found(
                trace,
                diagnosis,
                severity="warning",
                step=loss.step,
                location=diagnosis.activation_at,
                symptom_at=loss.location,
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case ActivationBeforeLoss(activation_at=activation, loss_at=loss):
                places = [activation, loss]
                kinds = ("relu", "sigmoid", "tanh", "softmax")
                yield from modules.without_activation(places, source, *kinds)


def _logits(trace: Trace, graph: ForwardGraph) -> Iterator[tuple[GraphOperation, LimitedLogits]]:
    """Yield the losses whose logits an activation limits."""
    chains = [chain for pattern in BEFORE_LOGITS for chain in find(graph, pattern)]
    losses = {loss.order: (activation, loss) for activation, loss, *_ in chains}
    for activation, loss in losses.values():
        place = place_of_activation(trace, activation)
        diagnosis = LimitedLogits(
            activation=base_of(activation),
            written=expression_of(place, "the activation"),
            activation_at=place,
            loss_at=loss.location,
            measured=range_given(loss),
        )
        yield loss, diagnosis


def _regressions(
    trace: Trace, graph: ForwardGraph
) -> Iterator[tuple[GraphOperation, TargetsOutOfReach]]:
    """Yield the losses whose targets an activation cannot reach; the prediction may be either operand."""
    for error in graph.operations(*ERRORS, *DIFFERENCES):
        if base_of(error) in DIFFERENCES and not graph.goes_to_loss(error, ELEMENTWISE):
            continue
        for prediction, target in ((0, 1), (1, 0)):
            activation, measured = graph.source(error, prediction), range_given(error, target)
            if activation is None or base_of(activation) not in RANGES or measured is None:
                continue
            if not graph.operand_trains(error, prediction) or graph.operand_trains(error, target):
                continue
            is_below, is_above = _outside(measured, RANGES[base_of(activation)])
            if is_below or is_above:
                place = place_of_activation(trace, activation)
                diagnosis = TargetsOutOfReach(
                    activation=base_of(activation),
                    written=expression_of(place, "the activation"),
                    activation_at=place,
                    loss_at=error.location,
                    measured=measured,
                    is_below=is_below,
                )
                yield error, diagnosis


def _outside(measured: tuple[float, float], limits: tuple[float, float]) -> tuple[bool, bool]:
    """Tell whether targets leave a range below, and whether above, by more than `OUTSIDE` of their own range."""
    width = measured[1] - measured[0]
    low, high = limits
    is_below = width > 0 and measured[0] < low - OUTSIDE * width
    is_above = width > 0 and measured[1] > high + OUTSIDE * width
    return is_below, is_above
