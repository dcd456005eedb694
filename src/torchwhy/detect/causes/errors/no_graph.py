from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import checkpoints, graphs
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.rules.message_kinds import (
    InferenceTensor,
    NeedsNoGradient,
    NothingRequiresGrad,
    NumberWithoutBackward,
    UnusedInGraph,
)
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.detect.views.crash.cut_reasons import EVERYWHERE, reason_of
from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.source.calls import argument
from torchwhy.source.edits import Source
from torchwhy.source.values import text_of

ADVICE = {
    "no_grad": "move the forward pass and the loss out of it",
    "frozen": "keep at least one parameter trainable, or do not train this model",
    "switched-off": "switch gradients on again: `torch.set_grad_enabled(True)`",
    "argmax": "compute the loss from the scores, not from the chosen class",
    "comparison": "use a differentiable loss; measure accuracy separately",
    "item": "keep the tensor, and use `.item()` only for printing or logging",
    "detach": "detach only what must not get a gradient",
}
NAMES_SHOWN = 6


class LossWithoutGraph(Diagnosis):
    """The loss depends on nothing that requires a gradient."""

    loss: str | None
    call: str
    message = "{name} has no graph: it depends on nothing that `{call}` could give a gradient"
    advice = "make the loss depend on the model's output, and keep it a tensor from there to `backward()`"

    @property
    def name(self) -> str:
        """Return the loss."""
        return f"`{self.loss}`" if self.loss is not None else "the loss"


class GraphCut(LossWithoutGraph):
    """An expression cut the graph between the weights and the loss."""

    way: str  # what cut it: the name of a method, `no_grad`, `frozen` …
    cut: str  # the expression that cut it
    switch: str | None  # the value of the variable in a `with` statement

    @property
    def sentence(self) -> str:
        why = reason_of(self.way, self.cut, switch=self.switch)
        if self.way in EVERYWHERE:
            return f"{self.name} has no graph: {why}"
        return f"{self.name} has no graph, because `{short(self.cut)}` cuts it: {why}"

    @property
    def remedies(self) -> tuple[str, ...]:
        otherwise = "compute the loss with tensors from the model's output to the end"
        return (ADVICE.get(self.way, otherwise),)


class NotPartOfResult(Diagnosis):
    """The result does not depend on the tensor to differentiate by."""

    call: str
    message = "`{call}` asks for the gradient of a tensor that the result does not depend on"
    advice = (
        "differentiate by a tensor that the result was computed from, or pass `allow_unused=True`"
    )


class RequiresNone(Diagnosis):
    """A tensor to differentiate by does not require a gradient."""

    call: str
    inputs: str | None  # the expression of the tensors to differentiate by
    message = "`{call}` differentiates by {what}, which does not require a gradient"
    advice = "call `.requires_grad_()` on {what} before the model gets it"

    @property
    def what(self) -> str:
        """Return what the call differentiates by."""
        return f"`{self.inputs}`" if self.inputs is not None else "a tensor"


class MadeForInference(Diagnosis):
    """A tensor from `inference_mode` is used for training."""

    call: str
    message = "`{call}` trains on a tensor made under `torch.inference_mode()`"
    advice = "make it under `torch.no_grad()`, or `clone()` it outside before training on it"


class NoGraph(Detector):
    """`backward()` was called on a value without a graph."""

    name = "no-graph"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            diagnosis: Diagnosis
            match crash.said:
                case NothingRequiresGrad() | NumberWithoutBackward():
                    yield crash.finding(
                        self.name,
                        loss_without_graph(crash),
                        evidence=list(_with_and_without(crash)),
                        location=crash.place("cut"),
                    )
                    continue
                case UnusedInGraph():
                    diagnosis = NotPartOfResult(call=crash.expression)
                case NeedsNoGradient():
                    diagnosis = RequiresNone(call=crash.expression, inputs=_inputs(crash))
                case InferenceTensor():
                    diagnosis = MadeForInference(call=crash.expression)
                case _:
                    continue
            yield crash.finding(self.name, diagnosis, evidence=crash.operand_evidence)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from checkpoints.not_reentrant(source)
        yield from graphs.kept(finding.location, source)
        yield from statements.with_graph(finding.location, source)
        match finding.diagnosis:
            case GraphCut(way="frozen"):
                yield from statements.unfrozen(finding.location, source)
                yield from graphs.unfrozen(source)
        if isinstance(finding.diagnosis, RequiresNone):
            yield from graphs.differentiable(finding.location, source)


def loss_without_graph(crash: CrashView) -> LossWithoutGraph:
    """Return the expression that cut the graph, if it is known."""
    loss, cut, way = crash.fact("loss"), crash.place("cut"), crash.fact("kind")
    if cut is None or way is None:
        return LossWithoutGraph(loss=loss, call=crash.expression)
    return GraphCut(
        loss=loss,
        call=crash.expression,
        way=way,
        cut=cut.expression or "",
        switch=crash.fact("switch"),
    )


def _inputs(crash: CrashView) -> str | None:
    """Return the inputs of a call of `torch.autograd.grad` as the program writes them."""
    inputs = argument(crash.syntax, ["outputs", "inputs"], "inputs")
    return text_of(inputs) if inputs is not None else None


def _with_and_without(crash: CrashView) -> Iterator[Evidence]:
    """Yield which tensors of the failing function have a graph, and which have none."""
    for frame in crash.event.frames[-1:]:
        flows = [tensor.name for tensor in frame.tensors if tensor.graph is not None]
        ends = [
            tensor.name
            for tensor in frame.tensors
            if tensor.graph is None and tensor.dtype.startswith("float")
        ]
        if flows:
            without = ", ".join(ends[:NAMES_SHOWN]) or "none"
            yield Evidence(f"with a graph: {', '.join(flows[:NAMES_SHOWN])}; without: {without}")
