from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import LOSS_FITS
from torchwhy.detect.views.graph.graph_queries import (
    ERRORS,
    ForwardGraph,
    base_of,
    expression_of,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace

BEST = {"max", "amax"}  # the best action of the next state
TAKEN = {"gather", "index"}  # the action that was taken
SIZES = {"pow", "square", "abs"}
SCALING = {"add", "sub", "rsub", "mul", "div", "_to_copy", "clone"}


@dataclass(frozen=True)
class Bootstrap:
    """A loss that compares the value of a taken action with a target from the same network."""

    loss: GraphOperation
    taken: GraphOperation
    best: GraphOperation


class TargetTrains(Diagnosis):
    """Gradients flow through the target of a temporal difference."""

    best: str
    best_at: SourceSpan | None
    loss: str
    message = (
        "the target of {loss} is not detached: gradients also flow back through {best}, so each step moves "
        "the target towards the prediction"
    )
    advice = "compute the target under torch.no_grad(), or detach it: target = (reward + gamma * next_value).detach()"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "the same parameters compute the value that is chosen and, from another input, the largest value of each "
            "row, and autograd follows both",
            location=self.best_at,
        )


class TargetNotDetached(Detector):
    """The loss of Q-learning sends gradients through its own target."""

    name = "target-not-detached"
    question = LOSS_FITS
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        found = next(_bootstraps(graph), None)
        if found is None:
            return
        diagnosis = TargetTrains(
            best=expression_of(found.best.location, "the best value of the next state"),
            best_at=found.best.location,
            loss=expression_of(found.loss.location, "the loss"),
        )
        yield self.found(
            trace,
            diagnosis,
            severity="warning",
            step=found.loss.step,
            location=found.best.location,
            symptom_at=found.loss.location,
        )


def _bootstraps(graph: ForwardGraph) -> Iterator[Bootstrap]:
    """Yield the losses whose target is a reward plus the best value that the same network gives another input."""
    for loss in graph.operations("sub", *ERRORS):
        if len(loss.inputs) < 2 or not all(loss.tracked[:2]) or not _is_error(graph, loss):
            continue
        for value, target in ((0, 1), (1, 0)):
            taken = _found_behind(graph, graph.source(loss, value), TAKEN)
            best = _found_behind(graph, graph.source(loss, target), BEST, adds_data=True)
            if taken is not None and best is not None and _are_two_passes(graph, taken, best):
                yield Bootstrap(loss, taken, best)


def _is_error(graph: ForwardGraph, loss: GraphOperation) -> bool:
    """Tell whether a comparison is a loss of torch, or a difference of which only the size counts."""
    if base_of(loss) in ERRORS:
        return True
    uses = graph.consumers_of(loss)
    return bool(uses) and all(
        base_of(one) in SIZES or (base_of(one) == "mul" and one.inputs == [loss.order] * 2)
        for one in uses
    )


def _found_behind(
    graph: ForwardGraph,
    operation: GraphOperation | None,
    bases: set[str],
    *,
    adds_data: bool = False,
) -> GraphOperation | None:
    """Return the tracked selection behind a few scalings; with `adds_data`, only if data is added on the way."""
    has_added = not adds_data
    while operation is not None and operation.differentiable:
        base = base_of(operation)
        if base in bases:
            return operation if has_added and len(operation.input_shapes[0]) > 1 else None
        if base not in SCALING:
            return None
        has_added = has_added or (base == "add" and operation.tracked.count(False) == 1)
        followed = [at for at, tracked in enumerate(operation.tracked) if tracked]
        operation = graph.source(operation, followed[0]) if len(followed) == 1 else None
    return None


def _are_two_passes(graph: ForwardGraph, taken: GraphOperation, best: GraphOperation) -> bool:
    """Tell whether two selections choose among outputs of one network for two inputs."""
    one, other = graph.source(taken), graph.source(best)
    if one is None or other is None or one.order == other.order:
        return False
    return bool(one.parameters) and one.parameters == other.parameters
