from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import LOSS_FITS
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.rules.graph_patterns import find
from torchwhy.detect.views.graph.graph_queries import (
    ForwardGraph,
    base_of,
    expression_of,
    range_given,
)
from torchwhy.detect.views.graph.layer_places import place_of_activation
from torchwhy.detect.views.losses.divergences import divergences
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix, Severity, SourceSpan
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

LIKELIHOODS = "param → * → nll_loss_forward|nll_loss2d_forward|_ctc_loss"
PROBABILITIES = {"_softmax", "_safe_softmax", "sigmoid"}
ABOVE_ZERO = (
    1e-3  # Rounding in half precision may lift a log-probability, which is at most 0, by this much.
)


class NotLogProbabilities(Diagnosis):
    """A loss that expects log-probabilities gets something else."""

    made_by: str
    made_at: SourceSpan | None
    loss_at: SourceSpan | None
    given: tuple[float, float] | None
    is_divergence: bool
    seen_at: int
    advice = "pass it log_softmax of the logits{alternative}"

    @property
    def alternative(self) -> str:
        """Return which loss takes the logits themselves, if there is one."""
        return "" if self.is_divergence else ", or pass the logits to cross_entropy"

    def evidence(self) -> Iterator[Evidence]:
        yield self._meeting()
        # For a divergence, only the sign of the operand is known.
        if self.given is not None and not self.is_divergence:
            low, high = self.given
            yield Evidence(
                f"they lie in {low:.3g}…{high:.3g}, but log-probabilities are at most 0",
                step=self.seen_at,
            )

    def _meeting(self) -> Evidence:
        """Return where the numbers come from."""
        return Evidence(f"they come from {self.made_by}", location=self.made_at)


class ProbabilitiesGiven(NotLogProbabilities):
    """A loss that expects log-probabilities gets the probabilities."""

    message = "{made_by} returns probabilities, but the loss expects log-probabilities"

    def _meeting(self) -> Evidence:
        return Evidence("the loss gets the probabilities themselves", location=self.loss_at)


class NumbersAboveZero(NotLogProbabilities):
    """A loss that expects log-probabilities gets numbers above 0, so it has no minimum."""

    message = (
        "this loss expects log-probabilities but gets numbers above 0, so it has no lower bound"
    )


class OverAnotherDimension(Diagnosis):
    """The log-probabilities are normalised along a dimension that is not the classes'."""

    made_by: str
    dim: int
    shape: Shape
    loss_at: SourceSpan | None
    message = (
        "{made_by} runs over dimension {dim} of {shape}, but the loss takes dimension 1 for the classes: "
        "those {classes} numbers are no log-probabilities"
    )
    advice = "call log_softmax with dim=1, or pass the logits to cross_entropy"

    @property
    def classes(self) -> int:
        """Return the number of classes."""
        return self.shape[1]

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "the loss gets them in this order of dimensions, (batch, class, …)",
            location=self.loss_at,
        )


class ProbabilitiesIntoNll(Detector):
    """The negative log-likelihood gets numbers that are not log-probabilities."""

    name = "probabilities-into-nll"
    question = LOSS_FITS
    every_observation = True
    settled = (NumbersAboveZero,)

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        for made, loss in find(graph, LIKELIHOODS):
            yield from self._judge(trace, made, loss, given=range_given(loss))
            yield from self._along(trace, made, loss)
        for made, loss in divergences(graph):
            if graph.trains(made):
                yield from self._judge(trace, made, loss, given=range_given(loss, 1))

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case NotLogProbabilities(made_at=made, loss_at=loss):
                yield from modules.log_in_place([made, loss], source)

    def _judge(
        self,
        trace: Trace,
        made: GraphOperation,
        loss: GraphOperation,
        *,
        given: tuple[float, float] | None,
    ) -> Iterator[Finding]:
        kind: type[NotLogProbabilities]
        severity: Severity
        if base_of(made) in PROBABILITIES:
            kind, severity = ProbabilitiesGiven, "warning"
        elif base_of(made) != "_log_softmax" and given is not None and given[1] > ABOVE_ZERO:
            kind, severity = NumbersAboveZero, "error"
        else:
            return
        place = place_of_activation(trace, made)
        diagnosis = kind(
            made_by=expression_of(place, "the model"),
            made_at=place,
            loss_at=loss.location,
            given=given,
            is_divergence=base_of(loss) == "sub",
            seen_at=loss.step,
        )
        yield self.found(
            trace,
            diagnosis,
            severity=severity,
            step=loss.step,
            location=place if kind is ProbabilitiesGiven else loss.location,
            symptom_at=loss.location,
        )

    def _along(self, trace: Trace, made: GraphOperation, loss: GraphOperation) -> Iterator[Finding]:
        """Yield a log_softmax along a dimension that the loss does not take for the classes."""
        dim = _wrong_dimension(made, loss)
        if dim is None:
            return
        place = place_of_activation(trace, made)
        diagnosis = OverAnotherDimension(
            made_by=expression_of(place, "the model"),
            dim=dim,
            shape=made.shape,
            loss_at=loss.location,
        )
        yield self.found(
            trace,
            diagnosis,
            severity="error",
            step=loss.step,
            location=place,
            symptom_at=loss.location,
        )


def _wrong_dimension(made: GraphOperation, loss: GraphOperation) -> int | None:
    """Return the dimension of a log_softmax whose result goes into a loss as it is, if that is not the classes'."""
    dim = made.scalars.get("1")
    if base_of(made) != "_log_softmax" or base_of(loss) != "nll_loss2d_forward":
        return None
    if (
        not isinstance(dim, (int, float))
        or loss.views[:1] != [-1]
        or loss.input_shapes[:1] != [made.shape]
    ):
        return None
    place = int(dim) % len(made.shape)
    return place if place not in (0, 1) else None  # Over the batch: see softmax-over-batch.
