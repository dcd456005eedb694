from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.model.possible_loss import QUESTION
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of, range_given
from torchwhy.detect.views.losses.bounded_losses import (
    BoundedLoss,
    bounded_losses,
    is_whole_loss,
    reaches_loss,
)
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.trace import Trace

BELOW = 1e-3  # Rounding in half precision takes a loss of 0, or a target of 0 or 1, this far past its bound.
PROBABILITIES = {"_softmax", "_safe_softmax", "sigmoid"}
DOMAINS: dict[str, tuple[str, float | None]] = {  # What must be at least 0, and its upper bound.
    "binary cross entropy": ("targets", 1.0),
    "cross entropy with soft targets": ("targets", None),
    "cross entropy with class weights": ("weights", None),
}
ADVICE = {
    "binary cross entropy": "map the targets to 0…1, or use a loss for their range, such as mse_loss",
    "cross entropy with soft targets": "pass probabilities as targets (softmax of the logits), or class indices",
    "cross entropy with class weights": "use weights above 0, such as `counts.sum() / counts`",
    "written-out binary cross entropy": "map the targets to 0…1, or use a loss for their range, such as mse_loss",
    "KL divergence": "pass log_softmax as input and softmax as target, both over the dimension of the classes",
    "CTC loss": "pass log_softmax over the last dimension, the classes: log_probs has shape (time, batch, classes)",
    "cross entropy": "pass log_softmax over the classes, or the logits to cross_entropy",
}


class OutsideDomain(Diagnosis):
    """Targets or weights lie where the formula has no lower bound."""

    formula: str
    what: str
    low: float
    high: float
    upper: float | None
    lowest: float | None
    seen_at: int
    message = "the {what} lie in {low:.3g}…{high:.3g}, but {domain}; beyond that it has no lower bound{reached}"

    @property
    def domain(self) -> str:
        """Return which values the formula takes."""
        bounds = "of at least 0" if self.upper is None else f"from 0 to {self.upper:g}"
        return f"a {self.formula} takes {self.what} {bounds}"

    @property
    def reached(self) -> str:
        """Return how far below 0 the loss went."""
        return "" if self.lowest is None else f", and the loss fell to {self.lowest:.3g}"

    @property
    def remedies(self) -> tuple[str, ...]:
        """Return what to pass instead."""
        return (ADVICE[self.formula],)


class BelowBound(Diagnosis):
    """A loss went below what its formula can give."""

    formula: str
    lowest: float
    steps_below: int
    steps: int
    message = "the loss is {lowest:.3g}, but a {formula} of probabilities is never below 0"

    @property
    def remedies(self) -> tuple[str, ...]:
        """Return what the formula expects."""
        return (ADVICE[self.formula],)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"it is below 0 in {self.steps_below} of {self.steps} steps")


class OverlapAboveOne(Diagnosis):
    """The overlap that a loss subtracts from 1 exceeds 1."""

    overlap: float
    message = (
        "the loss is 1 minus an overlap of {overlap:.3g}, but the overlap of two masks is at most 1"
    )
    advice = (
        "bring prediction and mask to 0…1 (`mask / 255`, `sigmoid`), and add the same constant to both sides of "
        "the division"
    )


class CosineAboveOne(Diagnosis):
    """The cosine that a loss subtracts from 1 exceeds 1."""

    cosine: float
    message = "the loss is 1 minus a cosine of {cosine:.3g}, but a cosine is at most 1"
    advice = (
        "divide both vectors by their norms over the axis that is summed: `F.normalize(a, dim=-1)` for each, or "
        "`F.cosine_similarity(a, b, dim=-1)`"
    )


class LabelsBeyondClasses(Diagnosis):
    """A CTC loss got labels that are no class; it does not check them."""

    low: int
    high: int
    classes: int
    message = (
        "the labels lie in {low}…{high}, but the CTC loss gets {classes} classes, 0 to {last}: for the other labels it "
        "reads memory that does not belong to them"
    )

    @property
    def last(self) -> int:
        """Return the largest label that is a class."""
        return self.classes - 1

    @property
    def remedies(self) -> tuple[str, ...]:
        """Return how many classes the labels need."""
        if self.low < 0:
            return ("correct the labels, or leave the padding out of `target_lengths`",)
        return (f"give the last layer {self.high + 1} outputs: one per label, and the blank",)


class ImpossibleLoss(Detector):
    """The loss has a value that its formula cannot give, so one of its operands is not what it is taken for."""

    name = "impossible-loss"
    question = QUESTION

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        yield from self._beyond_classes(trace, graph)
        every = list(trainings(trace))
        training = every[0] if len(every) == 1 else None
        for bounded in bounded_losses(graph):
            if not graph.trains(bounded.operation) or (training and training.maximizes):
                continue
            whole = training if training and is_whole_loss(graph, bounded) else None
            diagnosis = _judge(graph, bounded, whole)
            if diagnosis is not None and (training or isinstance(diagnosis, OverlapAboveOne)):
                yield self._finding(trace, bounded, diagnosis, whole)
                return

    def _beyond_classes(self, trace: Trace, graph: ForwardGraph) -> Iterator[Finding]:
        for operation in graph.operations("_ctc_loss"):
            given, classes = range_given(operation, 1), operation.input_shapes[0][-1]
            if given is not None and (given[0] < 0 or given[1] >= classes):
                yield self.found(
                    trace,
                    LabelsBeyondClasses(low=int(given[0]), high=int(given[1]), classes=classes),
                    severity="error",
                    step=operation.step,
                    location=operation.location,
                )
                return

    def _finding(
        self, trace: Trace, bounded: BoundedLoss, diagnosis: Diagnosis, whole: Training | None
    ) -> Finding:
        milder = isinstance(diagnosis, OutsideDomain) and diagnosis.lowest is None
        below = [step for step, loss in whole.losses if loss < -BELOW] if whole else []
        return self.found(
            trace,
            diagnosis,
            # Truncated distributions, as of the most likely words of a teacher, may sum to less than 1; one norm alone
            # may be meant as a projection.
            severity="warning"
            if milder or bounded.formula in ("KL divergence", "cosine")
            else "error",
            step=below[0] if below else bounded.operation.step,
            location=bounded.operation.location,
            evidence=[loss_curve(whole)] if whole else [],
        )


def _judge(
    graph: ForwardGraph, bounded: BoundedLoss, training: Training | None
) -> Diagnosis | None:
    """Return what is impossible; `training` is the one whose loss the formula is."""
    low, high = bounded.operand or (0.0, 0.0)
    below = [one for one in training.values if one < -BELOW] if training else []
    if bounded.formula == "overlap":
        overlap = max(high, 1.0 - min(below, default=1.0))
        return OverlapAboveOne(overlap=overlap) if overlap > 1.0 + BELOW else None
    if bounded.formula == "cosine":
        cosine = 1.0 - min(below, default=1.0)
        return CosineAboveOne(cosine=cosine) if cosine > 1.0 + BELOW else None
    what, upper = DOMAINS.get(bounded.formula, ("", None))
    outside = bool(what) and (low < -BELOW or (upper is not None and high > upper + BELOW))
    if outside and reaches_loss(graph, bounded):
        return OutsideDomain(
            formula=bounded.formula,
            what=what,
            low=low,
            high=high,
            upper=upper,
            lowest=min(below, default=None),
            seen_at=bounded.operation.step,
        )
    if below and training and not _is_of_another_cause(graph, bounded):
        return BelowBound(
            formula=bounded.formula,
            lowest=min(below),
            steps_below=len(below),
            steps=len(training.values),
        )
    return None


def _is_of_another_cause(graph: ForwardGraph, bounded: BoundedLoss) -> bool:
    """Tell whether a loss of log-probabilities gets numbers above 0 or probabilities: probabilities-into-nll."""
    divergence = bounded.formula == "KL divergence"
    given = range_given(bounded.operation, int(divergence))
    made = graph.source(bounded.operation, int(divergence))
    if divergence:
        return given is not None and given[1] > BELOW
    above = bounded.formula in ("cross entropy", "CTC loss") and given is not None
    return (above and given is not None and given[1] > BELOW) or (
        made is not None and base_of(made) in PROBABILITIES
    )
