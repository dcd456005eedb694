from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import PARAMETERS
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

REASONS = {
    "detach": "`.detach()` takes the value out of the graph",
    "data": "`.data` is the value without its graph",
    "parameter": "`nn.Parameter` makes a new leaf, which has the values but not their graph",
    "item": "a plain number has no graph, and a new tensor made from it starts an empty one",
    "number": "a plain number has no graph",
    "array": "an array or list has no graph, and a new tensor made from it starts an empty one",
    "copied": "a new tensor made from a list has the numbers in it but not their graph",
    "no-grad": "autograd records nothing under `no_grad`",
    "underivable": "this operation has no derivative",
    "flat": "the derivative of this operation is 0 wherever it exists",
}
REMEDIES = {
    "detach": "remove the `.detach()`",
    "data": "use the tensor itself instead of `.data`",
    "parameter": "use the tensor itself, not an `nn.Parameter` made from it",
    "item": "use the tensor itself, not a new tensor made from its number",
    "number": "use the tensor itself, not its number",
    "array": "use torch operations all the way from the parameters to the loss",
    "copied": "join the tensors with `torch.stack` or `torch.cat` instead",
    "no-grad": "compute this part outside `no_grad`",
    "flat": "draw as `mean + std * torch.randn_like(std)` (`rsample`), or use the value before rounding",
    "underivable": "use an operation with a derivative: probabilities instead of the chosen class",
}
MOST_NAMED = 4
CHECKPOINT = "checkpoint"
IN_VAIN = "in-vain"
EXPLAINED_ELSEWHERE = (CHECKPOINT, IN_VAIN)  # See reentrant-checkpoint and unused-parameters.


class GraphIsCut(Diagnosis):
    """The graph between some parameters and the loss is cut, so they get no gradient."""

    names: list[str]
    how: str
    op: str
    is_whole: bool
    seen_at: int
    message = "the graph is cut here, so {parameters_get} a gradient{other}: {reason}"
    advice = "{remedy}"

    @property
    def parameters_get(self) -> str:
        """Return which parameters get no gradient, with the verb."""
        if self.is_whole:
            return "no parameter of the optimizer gets"
        verb = "gets" if len(self.names) == 1 else "get"
        return f"{first_of(self.names, most=MOST_NAMED)} never {verb}"

    @property
    def other(self) -> str:
        """Return ` other than 0` where the operation passes a gradient of 0."""
        return " other than 0" if self.how == "flat" else ""

    @property
    def reason(self) -> str:
        """Return why this place cuts the graph."""
        return REASONS[self.how]

    @property
    def remedy(self) -> str:
        """Return what keeps the graph."""
        return REMEDIES[self.how]

    def evidence(self) -> Iterator[Evidence]:
        shown = first_of(self.names, most=MOST_NAMED)
        yield Evidence(
            f"used in the forward pass and held by the optimizer, but without a gradient{self.other}: {shown}",
            value=float(len(self.names)),
            step=self.seen_at,
        )
        their = "its" if len(self.names) == 1 else "their"
        claim = f"the first operation outside {their} graph is {_plain(self.op)}"
        yield Evidence(claim, step=self.seen_at)


class DrawnWithoutDerivative(Diagnosis):
    """A random draw ends the graph of its mean and spread, and layers with weights compute on it."""

    seen_at: int
    message = (
        "the graph is cut here: the draw has no derivative, so nothing computed from it "
        "trains its mean and spread"
    )
    advice = "draw with a derivative: `rsample()`, or `mean + std * torch.randn_like(std)`"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "layers with weights compute on the draw, and nothing takes its log-probability",
            step=self.seen_at,
        )


class DetachedGraph(Detector):
    """The optimizer holds parameters that the program uses, but the graph between them and the loss is cut."""

    name = "detached-graph"
    question = PARAMETERS
    needs_all = ("parameters",)
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for cut in trace.of(GraphCut):
            if cut.how in EXPLAINED_ELSEWHERE:
                continue
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
        """Yield the draws that cut the graph although another term of the loss gives their mean a gradient."""
        lines = {
            cut.location.line
            for cut in trace.of(GraphCut)
            if cut.location is not None and cut.how not in EXPLAINED_ELSEWHERE
        }
        for draw in draws_without_derivative(ForwardGraph(trace)):
            if draw.location is None or draw.location.line in lines:
                continue
            lines.add(draw.location.line)
            diagnosis = DrawnWithoutDerivative(seen_at=draw.step)
            yield self.found(
                trace, diagnosis, severity="warning", step=draw.step, location=draw.location
            )


def _plain(op: str) -> str:
    """Return `div` for `aten.div.Tensor`, and plain words for names that only torch's internals use."""
    name = op.split(".")[1] if op.count(".") else op
    if name == "_local_scalar_dense":
        return "item"
    return "the creation of a new tensor" if name.startswith("lift_fresh") else name


def _severity(cut: GraphCut) -> Severity:
    if cut.whole:
        return "error"
    is_meant = cut.joins or (cut.how == "no-grad" and cut.loaded)
    return "note" if is_meant else "warning"


def _is_wrong_model(trace: Trace, cut: GraphCut) -> bool:
    """Tell whether the optimizer trains nothing while no optimizer holds what gets gradients: a wrong model."""
    if not cut.whole:
        return False
    return any(
        one.registered and one.training and one.model and one.written_by == "random"
        for census in trace.of(ParameterCensus)
        if census.optimizer == cut.optimizer
        for one in untrained(trace, census)
    )


def _is_trained_otherwise(trace: Trace, cut: GraphCut, name: str) -> bool:
    """Tell whether a parameter gets a gradient later, or changes without one, as a moving average does."""
    seen = [
        (decode(sample.weight_rms[place]), decode(sample.gradient_rms[place]))
        for sample in trace.of(Weights)
        if sample.optimizer == cut.optimizer and name in sample.names
        for place in [sample.names.index(name)]
    ]
    decays = (
        cut.how == "flat"
    )  # With a gradient of 0, weight decay and momentum still change the weights.
    return any(gradient > 0 or (weight != seen[0][0] and not decays) for weight, gradient in seen)
