from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import FALLS
from torchwhy.detect.fixes.training import optimizers
from torchwhy.detect.fixes.values import reductions
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of
from torchwhy.detect.views.graph.loss_errors import error_behind
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import ParameterCensus
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

ENOUGH = 20  # Fewer losses do not show a rise.
ROSE = 1.5  # An error that the updates enlarge ends above this many times its start.


class ErrorMaximised(Diagnosis):
    """The updates enlarge an error: the loss is its negative, or the optimizer maximises it."""

    error: str
    first: float
    last: float
    steps: int
    by_optimizer: bool
    at: SourceSpan | None
    message = (
        "each step makes the error larger, not smaller: {why}, and the error went from {first:.3g} to {last:.3g} "
        "in {steps} steps"
    )

    @property
    def why(self) -> str:
        """Return what turns descent into ascent."""
        return "maximize=True" if self.by_optimizer else "the loss is the negative of it"

    @property
    def remedies(self) -> tuple[str, ...]:
        """Return the advice: without the minus sign, or without `maximize`."""
        if self.by_optimizer:
            return ("construct the optimizer without maximize=True",)
        return ("remove the minus sign before the error",)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"the error is {self.error}", location=self.at)


class LossMaximised(Detector):
    """The updates go uphill: an error enters the loss with the wrong sign."""

    name = "loss-maximised"
    question = FALLS

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        root = next((one for one in graph.losses if one.order is not None), None)
        signed = error_behind(graph, graph.operation(root.order)) if root is not None else None
        if signed is None or root is None:
            return
        sign, error = signed
        for training in trainings(trace):
            sinks = (sign < 0) != training.maximizes
            if not sinks or not _error_rises(training) or not _trains_a_model(trace, training):
                continue
            by_optimizer = training.maximizes
            diagnosis = ErrorMaximised(
                error=f"`{error.location.expression}`" if error.location else base_of(error),
                first=abs(median(training.head)),
                last=abs(median(training.tail)),
                steps=len(training.losses),
                by_optimizer=by_optimizer,
                at=error.location,
            )
            yield self.found(
                trace,
                diagnosis,
                severity="error",
                step=training.first_step,
                location=training.made.location if by_optimizer else root.location,
                evidence=[loss_curve(training)],
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case ErrorMaximised(by_optimizer=True):
                yield from optimizers.set_to(finding.location, source, "maximize", ("False",))
            case ErrorMaximised():
                yield from reductions.without_minus(finding.location, source)


def _error_rises(training: Training) -> bool:
    """Tell whether the error ends above its start."""
    if not training.alone or len(training.losses) < ENOUGH:
        return False
    first = abs(median(training.values[: max(3, len(training.values) // 20)]))
    return abs(median(training.tail)) > ROSE * first


def _trains_a_model(trace: Trace, training: Training) -> bool:
    """Tell whether the optimizer holds weights of modules; an attack enlarges the error through the input alone."""
    held = [
        one
        for census in trace.of(ParameterCensus)
        if census.optimizer == training.made.index
        for one in census.parameters
        if one.in_optimizer
    ]
    return any(one.module is not None for one in held)
