from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import STABLE
from torchwhy.detect.fixes.values import reductions
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of, elements
from torchwhy.detect.views.graph.layer_places import place_of_setting
from torchwhy.detect.views.training.training import trainings
from torchwhy.detect.views.training.troubles import Trouble, find_trouble
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Account, Evidence, Finding, Fix, SourceSpan
from torchwhy.record.events import OptimizerMade
from torchwhy.record.learning import GraphOperation, ModelOutput, ParameterCensus
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

# The argument of a fused loss that says how it is reduced, and the number that torch uses for "sum".
REDUCTION = {
    "mse_loss": "2",
    "smooth_l1_loss": "2",
    "huber_loss": "2",
    "nll_loss_forward": "3",
    "nll_loss2d_forward": "3",
    "binary_cross_entropy": "3",
    "binary_cross_entropy_with_logits": "4",
}
BY_SUM = 2
# With updates that are too long by up to this share of the batch size, the mean is well within its bound.
SURELY = 0.5
# Learning rates of SGD on a mean in tutorials and papers; a program with another one allows for the sum.
USUAL = (1e-3, 0.1)
SHARES = {"_softmax", "div"}  # Operations whose results can be weights that add up to 1.
SCALE_SENSITIVE = {"SGD", "ASGD"}  # Adam and similar optimizers divide by the size of the gradient.


class SumOfSamples(Diagnosis):
    """The loss is a sum over the samples of the batch, and the optimizer's steps are proportional to its gradient."""

    rows: int
    rate: float | None
    optimizer: str
    made_at: SourceSpan | None
    message = "the loss is a sum over the {rows} samples of the batch{acts_like}"
    advice = "use the mean, or choose the learning rate for this batch size"

    @property
    def acts_like(self) -> str:
        """Return the learning rate that would do the same with the mean."""
        if not self.rate:
            return ""
        return f"; lr={self.rate:g} acts like {self.rate * self.rows:g} on the mean"

    def evidence(self) -> Iterator[Evidence]:
        claim = f"{self.optimizer} makes steps proportional to the gradient"
        yield Evidence(claim, location=self.made_at)


class SumTooLong(SumOfSamples):
    """Training failed because of updates that would be short enough with the mean instead of the sum."""

    harm: Diagnosis
    excess: float
    message = "the loss is a sum over the {rows} samples of the batch{acts_like}: {harm}"

    def evidence(self) -> Iterator[Evidence]:
        yield from super().evidence()
        yield Evidence(
            f"the updates were {self.excess:.3g}× too long; with the mean they are {self.rows}× shorter",
            value=self.excess,
        )


class SumOverBatch(Detector):
    """The loss is a sum over the samples of the batch, so the optimizer's steps grow with the batch size."""

    name = "sum-over-batch"
    question = STABLE

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        made = next((one for one in _observed(trace) if one.kind in SCALE_SENSITIVE), None)
        output = next(iter(trace.of(ModelOutput)), None)
        root = next((one for one in graph.losses if one.order is not None), None)
        if made is None or output is None or root is None or output.rows < 2:
            return
        summed = _summed(graph, graph.operation(root.order), output.rows)
        if summed is None:
            return
        place = place_of_setting(trace, summed)
        plain = SumOfSamples(
            rows=output.rows, rate=_rate(made), optimizer=made.kind, made_at=made.location
        )
        note = self.found(trace, plain, severity="note", step=root.step, location=place)
        trouble = _trouble(trace, made)
        if trouble is None:
            yield note
            return
        failed = SumTooLong(**vars(plain), harm=trouble.harm, excess=trouble.excess)
        yield self.found(
            trace,
            failed,
            severity="error",
            step=root.step,
            location=place,
            symptom_at=summed.location,
            account=Account(trouble.excess, SURELY * output.rows, otherwise=note),
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case SumTooLong():  # A sum with which training works needs no fix.
                yield from reductions.mean_for_sum(finding.location, source)


def _observed(trace: Trace) -> list[OptimizerMade]:
    """Return the optimizers whose first step this observation saw; all of them if it saw no parameter."""
    indices = {census.optimizer for census in trace.of(ParameterCensus)}
    return [one for one in trace.of(OptimizerMade) if not indices or one.index in indices]


def _trouble(trace: Trace, made: OptimizerMade) -> Trouble | None:
    """Return how training failed because of too long updates, at a learning rate that is usual for a mean."""
    training = next((one for one in trainings(trace) if one.made.index == made.index), None)
    if training is None or not USUAL[0] <= (_rate(made) or 0.0) <= USUAL[1]:
        return None
    trouble = find_trouble(trace, training)
    return trouble if trouble is not None and trouble.excess > 1 else None


def _summed(graph: ForwardGraph, root: GraphOperation | None, rows: int) -> GraphOperation | None:
    """Return the operation that adds up all samples, if the loss is its result, possibly negated."""
    while root is not None and base_of(root) in ("neg", "_to_copy", "clone") and root.inputs:
        root = graph.source(root)
    if root is None:
        return None
    shape = root.input_shapes[0] if root.input_shapes else []
    holds_samples = bool(shape) and shape[0] == rows and elements(shape) > 1
    is_plain = base_of(root) == "sum" and not root.shape
    is_fused = root.scalars.get(REDUCTION.get(base_of(root), "")) == BY_SUM
    if not holds_samples or not (is_plain or is_fused) or _adds_shares(graph, root):
        return None
    return root


def _adds_shares(graph: ForwardGraph, root: GraphOperation) -> bool:
    """Tell whether the summands were multiplied by shares of the batch: the sum is then a weighted mean."""
    product = graph.source(root)
    if product is None or base_of(product) != "mul":
        return False
    return any(
        made is not None and base_of(made) in SHARES and not graph.operand_trains(product, place)
        for place, made in enumerate(graph.sources(product))
    )


def _rate(made: OptimizerMade) -> float | None:
    rate = made.defaults.get("lr")
    return decode(rate) if isinstance(rate, (int, float)) and not isinstance(rate, bool) else None
