from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import FALLS
from torchwhy.detect.fixes.training import optimizers
from torchwhy.detect.fixes.values import reductions
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of
from torchwhy.detect.views.losses.loss_errors import (
    error_behind,
    is_of_two_outputs,
    reversed_divergence,
)
from torchwhy.detect.views.losses.similarities import similarity_behind
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import GraphOperation, LossRoot, ParameterCensus, ParameterSeen
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

ENOUGH = 20  # Fewer losses do not show a rise.
LESS_ALIKE = 0.1  # Of a similarity, which lies between -1 or 0 and 1; noise of batches of 8 gives half of it.
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


class DivergenceMaximised(Diagnosis):
    """The loss subtracts the divergence from the standard normal distribution, which has no upper bound."""

    loss_at: SourceSpan | None
    message = (
        "the loss subtracts the KL divergence from the standard normal distribution: each step makes it larger, "
        "and exp(logvar) has no bound"
    )
    advice = "turn the sign: add `-0.5 * (1 + logvar - mu**2 - logvar.exp())` to the loss, which is never below 0"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "in the loss, the exponential and the squared mean have a minus, the exponent a plus",
            location=self.loss_at,
        )


class SimilarityMinimised(Diagnosis):
    """The loss is how alike an output and data are, so the updates make the output less like the data."""

    measure: str
    similarity: str
    first: float
    last: float
    steps: int
    by_optimizer: bool
    at: SourceSpan | None
    message = (
        "each step makes the output less like the data that it is compared with: {whole}, "
        "so the {measure} went from {first:.3g} to {last:.3g} in {steps} steps"
    )

    @property
    def whole(self) -> str:
        """Return what is minimised."""
        if self.by_optimizer:
            return f"maximize=True is set and the loss is the negative {self.measure} of the two"
        return f"the loss is the {self.measure} of the two"

    @property
    def remedies(self) -> tuple[str, ...]:
        """Return the advice: one minus the similarity."""
        if self.by_optimizer:
            return ("construct the optimizer without maximize=True",)
        return (f"if the output should be like the data, minimise 1 minus the {self.measure}",)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"the {self.measure} is {self.similarity}", location=self.at)


class LossMaximised(Detector):
    """The updates go uphill: an error enters the loss with the wrong sign."""

    name = "loss-maximised"
    question = FALLS

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        root = next((one for one in graph.losses if one.order is not None), None)
        yield from self._divergences(trace, graph)
        signed = error_behind(graph, graph.operation(root.order)) if root is not None else None
        if signed is None and root is not None:
            yield from self._similarities(trace, graph, root)
        if signed is None or root is None:
            return
        sign, error = signed
        for training in trainings(trace):
            sinks = (sign < 0) != training.maximizes
            if not sinks or not _error_rises(training) or not _trains_a_model(trace, training):
                continue
            if is_of_two_outputs(graph, error) or _is_judged_by_another(trace, graph, error):
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
                # What was loaded may be meant to forget.
                severity="note" if _was_trained(trace, training) else "error",
                step=training.first_step,
                location=training.made.location if by_optimizer else root.location,
                evidence=[loss_curve(training)],
            )

    def _similarities(self, trace: Trace, graph: ForwardGraph, root: LossRoot) -> Iterator[Finding]:
        """Yield a loss that is the similarity of the output with data: a note, as it may be meant to be unlike them.

        With `maximize=True` it is the negative similarity, which is written to be minimised.
        """
        found = similarity_behind(graph, graph.operation(root.order))
        for training in trainings(trace) if found is not None else ():
            assert found is not None
            sinks = (found.sign > 0) != training.maximizes
            if not sinks or not training.alone or len(training.losses) < ENOUGH:
                continue
            first, last = (found.sign * median(part) for part in (training.head, training.tail))
            if first - last < LESS_ALIKE or not _trains_a_model(trace, training):
                continue
            place = found.operation.location
            diagnosis = SimilarityMinimised(
                measure=found.kind,
                similarity=f"`{place.expression}`" if place else base_of(found.operation),
                first=first,
                last=last,
                steps=len(training.losses),
                by_optimizer=training.maximizes,
                at=place,
            )
            yield self.found(
                trace,
                diagnosis,
                severity="warning" if training.maximizes else "note",
                step=training.first_step,
                location=training.made.location if training.maximizes else root.location,
                evidence=[loss_curve(training)],
            )

    def _divergences(self, trace: Trace, graph: ForwardGraph) -> Iterator[Finding]:
        """Yield a divergence that enters a loss with a minus."""
        if any(training.maximizes for training in trainings(trace)):
            return
        for root in graph.losses:
            operation = graph.operation(root.order)
            found = reversed_divergence(graph, operation) if operation is not None else None
            if found is not None:
                diagnosis = DivergenceMaximised(loss_at=root.location)
                yield self.found(
                    trace, diagnosis, severity="error", step=root.step, location=found.location
                )
                return

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case ErrorMaximised(by_optimizer=True) | SimilarityMinimised(by_optimizer=True):
                yield from optimizers.set_to(finding.location, source, "maximize", ("False",))
            case ErrorMaximised():
                yield from reductions.without_minus(finding.location, source)
            case SimilarityMinimised():
                yield from reductions.one_minus(finding.location, source)


def _error_rises(training: Training) -> bool:
    """Tell whether the error ends above its start."""
    if not training.alone or len(training.losses) < ENOUGH:
        return False
    first = abs(median(training.values[: max(3, len(training.values) // 20)]))
    return abs(median(training.tail)) > ROSE * first


def _is_judged_by_another(trace: Trace, graph: ForwardGraph, error: GraphOperation) -> bool:
    """Tell whether gradients reach the trained weights through a network that is not trained.

    Who trains a patch or a generator against a fixed network enlarges that network's error on purpose.
    """
    held = {
        one.name
        for seen in trace.of(ParameterCensus)
        for one in seen.parameters
        if one.in_optimizer
    }
    fixed = [
        one for one in graph.ancestors(error) if one.differentiable and set(one.parameters) - held
    ]
    return any(
        held & set(above.parameters)
        for one in fixed
        for place, made in enumerate(graph.sources(one)[: len(one.tracked)])
        if made is not None and one.tracked[place]
        for above in graph.ancestors(made)
    )


def _trains_a_model(trace: Trace, training: Training) -> bool:
    """Tell whether the optimizer holds weights of modules; an attack enlarges the error through the input alone."""
    return any(one.module is not None for one in _held_by(trace, training))


def _was_trained(trace: Trace, training: Training) -> bool:
    """Tell whether all weights of an optimizer were loaded."""
    return all(one.written_by == "loaded" for one in _held_by(trace, training))


def _held_by(trace: Trace, training: Training) -> list[ParameterSeen]:
    return [
        one
        for census in trace.of(ParameterCensus)
        if census.optimizer == training.made.index
        for one in census.parameters
        if one.in_optimizer
    ]
