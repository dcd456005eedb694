"""How a run failed, by how much its updates were too long, and how large its inputs and targets are."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import median

from torchwhy.detect.causes.dynamics import learning_rate_too_high as divergence
from torchwhy.detect.rules.operand_domains import proven
from torchwhy.detect.views.nonfinite.birth_facts import op_name, value_at_born
from torchwhy.detect.views.training.network_facts import (
    SQUASHERS,
    activations,
    curvatures,
    training_outputs,
)
from torchwhy.detect.views.training.overshoot import find_overshoot
from torchwhy.detect.views.training.training import Training
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Birth, ModuleCalled
from torchwhy.record.learning import GraphOperation, LossRoot, ModelOutput
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

FLAT = 0.9  # At this share of saturated elements a layer passes on only signs.
DOMINATES = 10.0  # A loss this many times the square of the output comes from the targets, not from the output.
FEWEST_RATIOS = 3  # Fewer ratios of successive losses do not show a constant growth.
FAST = 100.0  # From here on two equal ratios do: losses overflow soon, and in a network the second ratio is far larger.
STEADY = 1.5  # Largest over smallest ratio of successive losses; on a quadratic they are equal, in a network they grow.
REGRESSIONS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


class Overshot(Diagnosis):
    """The updates did harm by their length."""

    harm: Diagnosis
    message = "the updates {harm}"


class LossDoesNotFall(Diagnosis):
    """The loss does not fall, possibly with layers saturated before any training."""

    last_loss: float
    steps: int
    saturated_layers: int
    message = "the loss does not fall (still {last_loss:.4g} after {steps} steps){saturation}"

    @property
    def saturation(self) -> str:
        """Return `, and 2 layers are saturated from the start`, or nothing."""
        if not self.saturated_layers:
            return ""
        layers = (
            f"{self.saturated_layers} layers are" if self.saturated_layers > 1 else "one layer is"
        )
        return f", and {layers} saturated from the start"


class Diverged(Diagnosis):
    """The numbers grew until they overflowed."""

    step: int
    message = "training diverged to inf or NaN at step {step}"


@dataclass(frozen=True)
class Trouble:
    """How training failed, since when, by which births, and how many times too long the updates were.

    `excess` is estimated from the first update, `growth` from how the losses grew.
    """

    step: int
    harm: Diagnosis
    births: tuple[int, ...] = ()
    excess: float = 0.0
    is_mild: bool = False
    growth: float = 0.0


def find_trouble(trace: Trace, training: Training) -> Trouble | None:
    """Return how one optimizer's training failed; None if it did not fail or cannot be judged."""
    if trace.alarms:
        return _diverged(trace, training)
    overshoot = find_overshoot(trace, training)
    if overshoot is not None:
        return Trouble(
            overshoot.step, Overshot(harm=overshoot.harm), excess=_excess(trace, training)
        )
    saturated = [a for a in activations(trace, 0, SQUASHERS) if a.saturated >= FLAT]
    if training.never_learnt:
        harm = LossDoesNotFall(
            last_loss=training.values[-1],
            steps=len(training.losses),
            saturated_layers=len(saturated),
        )
        return Trouble(0, harm)
    return None


def _diverged(trace: Trace, training: Training) -> Trouble | None:
    births = divergence.failing_births(trace)
    if not births or not divergence.are_consequences(births):
        return None
    if _is_naive_softmax(births) and not divergence.weights_diverged(trace):
        return None
    step = births[0].step
    return Trouble(
        step,
        Diverged(step=step),
        births=tuple(birth.id for birth in births),
        excess=_excess(trace, training),
        growth=_excess_by_growth(training.values),
    )


def _is_naive_softmax(births: list[Birth]) -> bool:
    """Tell whether an exponential overflowed and was then divided by its own sum.

    A softmax is finite however large its operands are, so the formula fails, not the size of the numbers.
    """
    first = births[0]
    if proven(first, "exp-overflow") is None:
        return False
    return any(
        birth.kind == "from-infinity"
        and op_name(birth) == "div"
        and birth.parents == [first.id]
        and all(value_at_born(operand) == math.inf for operand in birth.operands[:2])
        for birth in births[1:]
    )


def _excess(trace: Trace, training: Training) -> float:
    """Return how many times too long the updates were at the first sign of it: an update over the weights, or a ratio.

    Later measurements, on weights that the updates have already destroyed, say nothing about the cause.
    """
    updates = [(sample.step, training.relative_update(sample)) for sample in training.samples]
    if updates and updates[0][1] > 1:
        return updates[0][1]
    ratios = [(m.step, m.ratio) for m in curvatures(trace, training)]
    too_long = [(step, size) for step, size in (*ratios, *updates) if size > 1]
    return min(too_long, key=lambda pair: pair[0], default=(0, 0.0))[1]


def _excess_by_growth(losses: list[float]) -> float:
    """Return the learning rate over the stable one if the losses grow by a constant factor; 0 if they do not.

    On a quadratic, each step along the steepest direction is |1 - lr · curvature| times as long as the one before.
    The length of the very first step depends on the targets and does not show that.
    """
    ratios = [after / before for before, after in pairwise(losses) if before > 0]
    fewest = FEWEST_RATIOS - 1 if min(ratios, default=0.0) >= FAST else FEWEST_RATIOS
    if len(ratios) < fewest or min(ratios) < 1 or max(ratios) > STEADY * min(ratios):
        return 0.0
    return (math.sqrt(median(ratios)) + 1) / 2


def first_input(trace: Trace) -> ModelOutput | None:
    """Return the first call of a module on raw inputs at the first step, unless its first layer normalises them."""
    calls = [o for o in training_outputs(trace, 0) if o.given is not None and not o.given_computed]
    if not calls:
        return None
    leaves = [m.kind for m in trace.of(ModuleCalled) if m.step == 0]
    return None if leaves and "Norm" in leaves[0] else calls[0]


def target_scale(trace: Trace) -> tuple[float, SourceSpan | None]:
    """Return the size of a regression's targets at the first step and the place of its loss; 0 if there are none."""
    root = next((r for r in trace.of(LossRoot) if r.step == 0), None)
    for operation in trace.of(GraphOperation):
        if operation.step == 0 and _name(operation) in REGRESSIONS and len(operation.facts) > 1:
            target = operation.facts[1]
            return max(abs(target.minimum or 0.0), abs(target.maximum or 0.0)), operation.location
    outputs = training_outputs(trace, 0)
    if root is None or not outputs or not _squares(trace):
        return 0.0, None
    loss, output = abs(decode(root.value)), decode(outputs[-1].rms)
    if not math.isfinite(loss):  # The output alone may have caused this.
        return 0.0, None
    return (math.sqrt(loss), root.location) if loss > DOMINATES * output**2 else (0.0, None)


def _squares(trace: Trace) -> bool:
    """Tell whether the program computes a mean of squares as its loss without mse_loss."""
    operations = {_name(operation) for operation in trace.of(GraphOperation) if operation.step == 0}
    return (
        bool({"pow", "square", "mul"} & operations)
        and bool({"sub", "rsub"} & operations)
        and not (
            {"_log_softmax", "binary_cross_entropy_with_logits", "nll_loss_forward"} & operations
        )
    )


def _name(operation: GraphOperation) -> str:
    return operation.op.split(".")[1] if "." in operation.op else operation.op
