from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import LOSS_FITS
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of, expression_of
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, SourceSpan
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace

COMPARED = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
DRAWS = ("randn", "randn_like", "normal", "normal_functional")
SCALED = {"mul", "div"}
LEARNT = 0.75  # share of the first losses; a new model predicts nearly 0, the mean of the noise


class OtherNoise(Diagnosis):
    """The model is asked for noise that it cannot see: its input has another draw."""

    noise: str
    added: str
    added_at: SourceSpan | None
    message = (
        "the loss compares the prediction with noise that the model never gets: {noise} goes only into the loss, "
        "and the input is made with another draw"
    )
    advice = "draw the noise once, and use the same tensor for the input and for the loss"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"{self.added} is added to the input", location=self.added_at)


class NoiseDrawnTwice(Detector):
    """A model that predicts noise gets another draw than the loss."""

    name = "noise-drawn-twice"
    question = LOSS_FITS
    every_observation = True
    needs_all = ("operations",)

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        if any(_learns(one) for one in trainings(trace)):
            return
        for loss in graph.operations(*COMPARED):
            if not _is_whole_loss(graph, loss):
                continue
            for prediction, target in ((0, 1), (1, 0)):
                noise = graph.source(loss, target)
                if noise is None or base_of(noise) not in DRAWS or noise.differentiable:
                    continue
                if any(one.order != loss.order for one in graph.consumers_of(noise)):
                    continue
                added = _added_to_input(graph, graph.source(loss, prediction), noise)
                if added is None or not graph.operand_trains(loss, prediction):
                    continue
                yield self._finding(trace, loss, noise, added)
                return

    def _finding(
        self, trace: Trace, loss: GraphOperation, noise: GraphOperation, added: GraphOperation
    ) -> Finding:
        diagnosis = OtherNoise(
            noise=expression_of(noise.location, "a draw"),
            added=expression_of(added.location, "another draw"),
            added_at=added.location,
        )
        return self.found(
            trace,
            diagnosis,
            severity="error",
            step=loss.step,
            location=noise.location or loss.location,
            symptom_at=loss.location,
        )


def _learns(training: Training) -> bool:
    """Tell whether a loss fell far: a draw that the model cannot see can be predicted no better than by its mean."""
    return bool(training.values) and median(training.tail) < LEARNT * median(training.head)


def _is_whole_loss(graph: ForwardGraph, loss: GraphOperation) -> bool:
    """Tell whether a comparison is all that the model is trained by; next to another term it may be meant."""
    roots = {root.order for root in graph.losses}
    current: GraphOperation | None = loss
    while current is not None and current.order not in roots:
        after = [one for one in graph.consumers_of(current) if one.differentiable]
        is_one = len(after) == 1 and base_of(after[0]) in {"mean", "sum", *SCALED}
        current = after[0] if is_one and sum(after[0].tracked) == 1 else None
    return current is not None and len(roots) == 1


def _added_to_input(
    graph: ForwardGraph, prediction: GraphOperation | None, noise: GraphOperation
) -> GraphOperation | None:
    """Return another draw of the same shape that is added to data on its way into the model."""
    above = list(graph.ancestors(prediction)) if prediction is not None else []
    for draw in above:
        if base_of(draw) not in DRAWS or draw.order == noise.order or draw.shape != noise.shape:
            continue
        scaled = [draw, *(one for one in graph.consumers_of(draw) if base_of(one) in SCALED)]
        sums = [
            (one, made)
            for made in scaled
            for one in graph.consumers_of(made)
            if base_of(one) == "add"
        ]
        orders = {one.order for one in above}
        if any(one.order in orders and _adds_data(graph, one, made) for one, made in sums):
            return draw
    return None


def _adds_data(graph: ForwardGraph, total: GraphOperation, noise: GraphOperation) -> bool:
    """Tell whether a sum without a gradient has a second operand with rows of its own that is no mere draw."""
    made = graph.sources(total)
    plain = [
        (one is None or (base_of(one) not in DRAWS and one.order != noise.order))
        and graph.shape_given(total, at) == total.shape
        for at, one in enumerate(made)
    ]
    return not total.differentiable and len(made) > 1 and any(plain)
