from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import PARAMETERS
from torchwhy.detect.fixes.models import graphs
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, expression_of
from torchwhy.detect.views.losses.cut_terms import (
    CutTerm,
    cut_terms,
    gradient_taken,
    is_under_no_grad,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

REASONS = {
    "gradient": "it is computed from a gradient whose own graph was not kept",
    "detach": "it was taken out of its graph",
    "other": "it was computed outside of the graph",
}
REMEDIES = {
    "gradient": "keep the graph of the gradient: `torch.autograd.grad(…, create_graph=True)`",
    "detach": "use the tensor itself, without `.detach()` or `.data`, or remove the term",
    "other": "compute the term outside `no_grad` and with operations that have a derivative, or remove it",
}


class TermWithoutGraph(Diagnosis):
    """A term of the loss has no graph, so it changes the value of the loss and trains nothing."""

    term: str
    how: str
    loss_at: SourceSpan | None
    seen_at: int
    message = (
        "a term of the loss trains nothing: {reason}, so {term} adds to the value of the loss "
        "and not to its gradient"
    )
    advice = "{remedy}"

    @property
    def reason(self) -> str:
        """Return why the term has no graph."""
        return REASONS[self.how]

    @property
    def remedy(self) -> str:
        """Return what gives it one."""
        return REMEDIES[self.how]

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "the loss adds a number that autograd does not follow to one that it does",
            step=self.seen_at,
            location=self.loss_at,
        )


class ComparedWithItself(Diagnosis):
    """A term of the loss is the difference of two equal computations."""

    expression: str
    loss_at: SourceSpan | None
    seen_at: int
    message = (
        "a term of the loss is always 0: {expression} compares a value with the same value computed once more, "
        "and neither side has a graph"
    )
    advice = "put the output of the model that trains on one side"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence("the loss adds it here", step=self.seen_at, location=self.loss_at)


class NumberDetached(Diagnosis):
    """The program detaches a finished number before it adds it to the loss, as for a value that is only shown."""

    term: str
    message = "{term} adds to the value of the loss and not to its gradient: the program detaches the finished number"
    advice = "if the term should train, add it without `.detach()`"


class NumberUnderNoGrad(Diagnosis):
    """The program computes a number under `no_grad` where it makes the loss, and adds it."""

    term: str
    message = "{term} adds to the value of the loss and not to its gradient: the program computes it under `no_grad`"
    advice = "if the term should train, compute it outside `no_grad`"


class DetachedLossTerm(Detector):
    """A term of the loss depends on trained parameters and has no graph."""

    name = "detached-loss-term"
    question = PARAMETERS
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if not trace.has_all("operations"):
            return  # What is missing would be taken for a gradient.
        told: set[SourceSpan | None] = set()
        for cut in cut_terms(trace, ForwardGraph(trace)):
            if cut.place in told:
                continue
            told.add(cut.place)
            yield self._finding(trace, cut)

    def _finding(self, trace: Trace, cut: CutTerm) -> Finding:
        term = expression_of(cut.term.location, "it")
        if cut.how == "itself":
            itself = ComparedWithItself(
                expression=expression_of(cut.place, term),
                loss_at=cut.joins.location,
                seen_at=cut.joins.step,
            )
            return self.found(
                trace, itself, severity="warning", step=cut.joins.step, location=cut.place
            )
        meant: Diagnosis | None = None
        if cut.how == "number":
            meant = NumberDetached(term=expression_of(cut.place, term))
        elif cut.how != "gradient" and is_under_no_grad(trace, cut):
            meant = NumberUnderNoGrad(term=term)
        if meant is not None:
            return self.found(
                trace, meant, severity="note", step=cut.joins.step, location=cut.place
            )
        diagnosis = TermWithoutGraph(
            term=term,
            how=cut.how,
            loss_at=cut.joins.location,
            seen_at=cut.joins.step,
        )
        return self.found(
            trace,
            diagnosis,
            severity="warning",
            step=cut.joins.step,
            location=gradient_taken(trace, cut.place) if cut.how == "gradient" else cut.place,
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        # Of several `.detach()` in a term, some are meant, so only the graph of a gradient is proposed.
        yield from graphs.with_graph_of_gradient(finding.location, source)
