from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.dynamics.learning_rate_too_high import (
    are_consequences,
    failing_births,
)
from torchwhy.detect.checks.standing_questions import STABLE
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, elements
from torchwhy.detect.views.training.history import times
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.spikes import (
    AFTER,
    STAYS,
    WINDOW,
    fatal_jump,
    goes_on_level,
    unrecovered_spike,
)
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import LossRoot, ModelOutput
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class FatalBatch(Diagnosis):
    """One batch had an extreme loss, and its update ended the run."""

    step: int
    loss: float
    before: float
    failed_at: int
    message = (
        "the batch of step {step} had a loss of {loss:.3g}, after {before:.3g} in the steps before, and "
        "that single update destroyed the weights; step {failed_at} then failed"
    )
    advice = (
        "check the batch of step {step} for values out of range; clip_grad_norm_ keeps one "
        "bad batch from destroying the weights"
    )


class LossJumped(Diagnosis):
    """The loss jumped within a step and did not come back."""

    step: int
    before: float
    loss: float
    after: float
    targets_move: bool  # A network computes the targets.
    message = "the loss jumped {times} at step {step}, from {before:.3g} to {loss:.3g}, and {ending} at {after:.3g}"
    advice = "check the batch of step {step}; clip_grad_norm_ keeps one bad batch from destroying the weights"

    @property
    def times(self) -> str:
        """Return how large the jump is."""
        return times(self.loss / self.before)

    @property
    def ending(self) -> str:
        """Return where the loss ends; if the targets move, it need not come back."""
        return "ends" if self.targets_move else "never came back: it ends"


class OutputsChangedSize(Diagnosis):
    """The task changed with the jump, for instance to longer sequences."""

    before: Shape
    after: Shape
    message = (
        "since then the model's outputs have another shape, {after} instead of {before}, so the losses "
        "are not comparable"
    )


class TargetsMove(Diagnosis):
    """A network computes the targets: finding a reward for the first time raises them."""

    message = "a network computes its targets, so they change as well"


class SteadySince(Diagnosis):
    """The loss neither falls nor rises after the jump."""

    message = "it is steady from there on, as after a change of the data or of the loss"


class LossSpike(Detector):
    """The loss jumped tenfold within a step and stays far above its level before."""

    name = "loss-spike"
    question = STABLE

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if trace.alarms:
            yield from self._fatal(trace)
            return
        for training in trainings(trace):
            place = unrecovered_spike(training)
            if place is None or _is_another_loss(trace, training.losses[place][0]):
                continue
            if not _grew_with_the_batch(trace, training, place):
                yield self._finding(trace, training, place)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from loops.clip(finding.location, source)

    def _fatal(self, trace: Trace) -> Iterator[Finding]:
        """Yield the batch whose update made a healthy run overflow."""
        births = failing_births(trace)
        if not births or not are_consequences(births):
            return
        for training in trainings(trace):
            place = fatal_jump(training)
            if place is None or training.losses[place][0] >= births[0].step:
                continue
            step, loss = training.losses[place]
            before = median(training.values[max(0, place - WINDOW) : place])
            root = next(iter(trace.of(LossRoot)), None)
            yield self.found(
                trace,
                FatalBatch(step=step, loss=loss, before=before, failed_at=births[0].step),
                severity="error",
                step=step,
                location=root.location if root is not None else training.made.location,
                evidence=(
                    loss_curve(training),
                    Evidence(
                        f"weights and losses were steady until step {step}, so the cause is its batch, "
                        "not the learning rate",
                        step=step,
                    ),
                ),
                births=tuple(birth.id for birth in births),
            )

    def _finding(self, trace: Trace, training: Training, place: int) -> Finding:
        step, loss = training.losses[place]
        before = median(training.values[place - WINDOW : place])
        root = next(iter(trace.of(LossRoot)), None)
        reservation = _reservation(trace, training, place)
        diagnosis = LossJumped(
            step=step,
            before=before,
            loss=loss,
            after=median(training.values[-AFTER:]),
            targets_move=isinstance(reservation, TargetsMove),
        )
        found = self.found(
            trace,
            diagnosis,
            severity="warning" if reservation is None else "note",
            step=step,
            location=root.location if root is not None else training.made.location,
            evidence=[
                loss_curve(training),
                Evidence("level before the jump", value=before, step=step),
            ],
        )
        return replace(found, reservation=reservation)


def _reservation(trace: Trace, training: Training, place: int) -> Diagnosis | None:
    """Return a reason why the jump may be no defect."""
    if ForwardGraph(trace).has_moving_targets:
        return TargetsMove()
    sizes = _sizes_around(trace, training.losses[place][0])
    if sizes is not None:
        return OutputsChangedSize(before=sizes[0], after=sizes[1])
    return SteadySince() if goes_on_level(training, place) else None


def _is_another_loss(trace: Trace, step: int) -> bool:
    """Tell whether other operations compute the losses since a step than before it.

    A program that changes its objective, or adds a term, has a loss on another scale from there on.
    """
    roots = [root for root in trace.of(LossRoot) if root.location is not None]
    before = {(root.location, root.operations) for root in roots if root.step < step}
    after = {(root.location, root.operations) for root in roots if root.step >= step}
    return bool(before) and bool(after) and before.isdisjoint(after)


def _grew_with_the_batch(trace: Trace, training: Training, place: int) -> bool:
    """Tell whether the loss per element of the output is as before: a sum over larger batches or longer sequences."""
    step = training.losses[place][0]
    outputs = [output for output in trace.of(ModelOutput) if output.training and output.grad]
    before = [output for output in outputs if output.step < step]
    after = [output for output in outputs if output.step >= step]
    if not before or not after:
        return False
    larger = elements(after[0].facts.shape) / max(1, elements(before[-1].facts.shape))
    level = median(training.values[place - WINDOW : place])
    return larger > 1 and median(training.values[-AFTER:]) < STAYS * level * larger


def _sizes_around(trace: Trace, step: int) -> tuple[list[int], list[int]] | None:
    """Return the shapes of the model's output before and since a step, if no sample has the same size as before."""
    outputs = [output for output in trace.of(ModelOutput) if output.training and output.grad]
    before = [output.facts.shape for output in outputs if output.step < step]
    after = [output.facts.shape for output in outputs if output.step >= step]
    if not before or not after or any(one[1:] == other[1:] for one in before for other in after):
        return None
    return list(before[-1]), list(after[0])
