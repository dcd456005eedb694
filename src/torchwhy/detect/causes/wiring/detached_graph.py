from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import graphs
from torchwhy.detect.views.graph.graph_queries import ForwardGraph
from torchwhy.detect.views.graph.sampled_values import draws_without_derivative
from torchwhy.detect.views.parameters.trained_parameters import first_of, untrained
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, Severity
from torchwhy.record.events import Weights
from torchwhy.record.learning import GraphCut, ParameterCensus
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

WORDS = {
    "detach": "`.detach()` takes the value out of the graph",
    "data": "`.data` is the value without its graph",
    "parameter": "`nn.Parameter` makes a new leaf, which holds the values and knows nothing of their graph",
    "item": "a plain number knows nothing of its graph, and a new tensor made of it begins an empty one",
    "number": "a plain number knows nothing of its graph",
    "array": "an array or list knows nothing of its graph, and a new tensor made of it begins an empty one",
    "no-grad": "nothing computed under `no_grad` has a graph",
    "underivable": "this operation has no derivative",
    "flat": "the derivative of this operation is 0 wherever it has one",
}
CURES = {
    "detach": "remove the `.detach()`",
    "data": "use the tensor itself in place of `.data`",
    "parameter": "use the tensor itself, not an `nn.Parameter` made of it",
    "item": "use the tensor itself, not a new tensor made of its number",
    "number": "use the tensor itself, not its number",
    "array": "stay with torch operations between the parameters and the loss",
    "no-grad": "compute this part outside of `no_grad`",
    "flat": "draw as `mean + std * torch.randn_like(std)` (`rsample`), or keep the value before it was rounded",
    "underivable": "use an operation with a derivative: probabilities in place of the chosen class",
}
MOST_NAMED = 4


class GraphIsCut(Diagnosis):
    """The value of some parameters goes on without its graph, so they get no gradient."""

    names: list[str]
    how: str
    op: str
    is_whole: bool
    seen_at: int
    message = "the graph is cut here, so {who} a gradient{other}: {why}"
    advice = "{cure}"

    @property
    def who(self) -> str:
        """Return which parameters get no gradient."""
        if self.is_whole:
            return "no parameter of the optimizer gets"
        verb = "gets" if len(self.names) == 1 else "get"
        return f"{first_of(self.names, most=MOST_NAMED)} never {verb}"

    @property
    def other(self) -> str:
        """Return what the gradient is, where there is one."""
        return " other than 0" if self.how == "flat" else ""

    @property
    def why(self) -> str:
        """Return what the cut does."""
        return WORDS[self.how]

    @property
    def cure(self) -> str:
        """Return what keeps the graph."""
        return CURES[self.how]

    def evidence(self) -> Iterator[Evidence]:
        shown = first_of(self.names, most=MOST_NAMED)
        yield Evidence(
            f"used in the forward pass, held by the optimizer, and without gradient: {shown}",
            value=float(len(self.names)),
            step=self.seen_at,
        )
        them = "it" if len(self.names) == 1 else "them"
        claim = f"the first operation that no longer knew {them} is {_plain(self.op)}"
        yield Evidence(claim, step=self.seen_at)


class DrawnWithoutDerivative(Diagnosis):
    """A draw ends the graph of its mean and spread, and layers with weights work on it."""

    seen_at: int
    message = (
        "the graph is cut here: what was drawn has no derivative, so nothing that is computed from it "
        "trains the mean and the spread it was drawn with"
    )
    advice = "draw with a derivative: `rsample()`, or `mean + std * torch.randn_like(std)`"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "layers with weights work on what was drawn, and no log-probability of it is taken",
            step=self.seen_at,
        )


class DetachedGraph(Detector):
    """Parameters are used and given to the optimizer, but the graph between them and the loss is cut."""

    name = "detached-graph"
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for cut in trace.of(GraphCut):
            names = [name for name in cut.parameters if not _is_trained_otherwise(trace, cut, name)]
            if names:
                diagnosis = GraphIsCut(
                    names=names, how=cut.how, op=cut.op, is_whole=cut.whole, seen_at=cut.step
                )
                severity = "note" if _is_wrong_model(trace, cut) else _severity(cut)
                yield self.found(
                    trace, diagnosis, severity=severity, step=cut.step, location=cut.location
                )
        yield from self._draws(trace)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from graphs.kept(finding.location, source)
        yield from graphs.drawn_with_derivative(finding.location, source)

    def _draws(self, trace: Trace) -> Iterator[Finding]:
        """Yield the draws behind which some other term of the loss gives their mean a gradient."""
        lines = {cut.location.line for cut in trace.of(GraphCut) if cut.location is not None}
        for draw in draws_without_derivative(ForwardGraph(trace)):
            if draw.location is None or draw.location.line in lines:
                continue
            lines.add(draw.location.line)
            diagnosis = DrawnWithoutDerivative(seen_at=draw.step)
            yield self.found(
                trace, diagnosis, severity="warning", step=draw.step, location=draw.location
            )


def _plain(op: str) -> str:
    """Return `div` for `aten.div.Tensor`; torch's own word for a new tensor says nothing to anybody."""
    name = op.split(".")[1] if op.count(".") else op
    if name == "_local_scalar_dense":
        return "item"
    return "the making of a new tensor" if name.startswith("lift_fresh") else name


def _severity(cut: GraphCut) -> Severity:
    if cut.whole:
        return "error"
    meant = cut.joins or (cut.how == "no-grad" and cut.loaded)
    return "note" if meant else "warning"


def _is_wrong_model(trace: Trace, cut: GraphCut) -> bool:
    """Tell whether nothing that the optimizer holds learns, and nobody holds what does: it was made for another."""
    if not cut.whole:
        return False
    return any(
        one.registered and one.training and one.model and one.written_by == "random"
        for census in trace.of(ParameterCensus)
        if census.optimizer == cut.optimizer
        for one in untrained(trace, census)
    )


def _is_trained_otherwise(trace: Trace, cut: GraphCut, name: str) -> bool:
    """Tell whether a parameter gets a gradient later, or changes without one: a moving average writes it."""
    seen = [
        (decode(sample.weight_rms[place]), decode(sample.gradient_rms[place]))
        for sample in trace.of(Weights)
        if sample.optimizer == cut.optimizer and name in sample.names
        for place in [sample.names.index(name)]
    ]
    decays = cut.how == "flat"  # a gradient of 0 is one, so weight decay and momentum go on
    return any(gradient > 0 or (weight != seen[0][0] and not decays) for weight, gradient in seen)
