from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import FALLS
from torchwhy.detect.views.graph.graph_queries import ForwardGraph
from torchwhy.detect.views.losses.loss_errors import error_behind
from torchwhy.detect.views.training.network_facts import Measured, curvatures
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.sweeps import judged_among, outdone_by
from torchwhy.detect.views.training.training import (
    ERRORS,
    JUMPED,
    SAME,
    Training,
    is_lower,
    ranks_lower,
    trainings,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.learning import LossRoot
from torchwhy.record.trace import Trace

WORTH_IT = 0.05  # Share of the loss that one step at the stable learning rate would take off.
STABLE = 0.99  # Learning rate over the stable one; at 1 the loss jumps across its minimum and repeats, too.
ROSE = 3.0  # Noise and harder batches keep an error below this many times its start.
LONG = 100  # A noisy loss that did not fall in this many steps is worth a note.


class LossRepeats(Diagnosis):
    """The loss is the same at every step, though a measured step would lower it."""

    loss: float
    rate_is_zero: bool
    possible: float
    measured_at: int
    message = (
        "the loss is {loss:.6g} at every step{zero}, though one update at the stable learning rate would lower it "
        "by about {possible:.0%}: the updates do not reach the values that the loss is computed from"
    )
    advice = "print a weight before a step, after it, and in the next forward pass, to find where the update is lost"

    @property
    def zero(self) -> str:
        """Return ` (lr is 0)` if it is."""
        return " (lr is 0)" if self.rate_is_zero else ""

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "share of the loss that one step could take off",
            value=self.possible,
            step=self.measured_at,
        )


class LossStays(Diagnosis):
    """The loss, a noisy one, did not fall in many steps."""

    steps: int
    first: float
    last: float
    still_falls: bool
    message = "the loss {fall} in {steps} steps: {first:.4g} at first, {last:.4g} in the second half; {outlook}"

    @property
    def fall(self) -> str:
        """Return `hardly fell` or `did not fall`."""
        return "hardly fell" if self.last < self.first else "did not fall"

    @property
    def outlook(self) -> str:
        """Return whether the loss still falls."""
        return "it still falls, but slowly" if self.still_falls else "it may be at its floor"


class LossRose(Diagnosis):
    """The loss, an error as a whole, ends far above its start."""

    steps: int
    first: float
    last: float
    message = (
        "the loss rose in {steps} steps: {first:.4g} at first, {last:.4g} in the second half; unless the task grew "
        "harder on purpose, the model is worse than before training"
    )
    advice = "compare the loss of one fixed batch before and after training"


class LossIsZero(Diagnosis):
    """The loss is 0 throughout."""

    steps: int
    message = "the loss is 0 in all {steps} steps: there is nothing to learn from it"


class StuckLoss(Detector):
    """The loss is the same at every step although its gradient shows that it could fall."""

    name = "stuck-loss"
    question = FALLS

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if trace.alarms:
            return
        every = list(trainings(trace))
        for training in every:
            if not training.never_learnt:
                continue
            measured = next((m for m in curvatures(trace, training) if m.ratio < STABLE), None)
            if _repeats(training) and measured is not None and measured.possible >= WORTH_IT:
                yield judged_among(self._finding(trace, training, measured), training, trace)
            elif training.cut:  # The steps after the rehearsal may lower the loss.
                continue
            elif _rose(trace, training):
                yield self._worse(trace, training)
            elif (
                len(training.losses) >= LONG
                and training.is_steady
                and not _repeats(training)
                and median(training.tail) <= JUMPED * median(training.head)
                and not _carries_on(training, every)
                and not _fell_before(training)
                and outdone_by(training, trace) is None
            ):
                yield self._note(trace, training)

    def _finding(self, trace: Trace, training: Training, measured: Measured) -> Finding:
        root = next(iter(trace.of(LossRoot)), None)
        diagnosis = LossRepeats(
            loss=training.values[-1],
            rate_is_zero=not training.rate,
            possible=measured.possible,
            measured_at=measured.step,
        )
        return self.found(
            trace,
            diagnosis,
            severity="warning",
            step=training.losses[len(training.losses) // 2][0],
            location=root.location if root is not None else training.made.location,
            evidence=[loss_curve(training)],
        )

    def _worse(self, trace: Trace, training: Training) -> Finding:
        diagnosis = LossRose(
            steps=len(training.losses), first=median(training.head), last=median(training.tail)
        )
        return self.found(
            trace,
            diagnosis,
            severity="note",
            step=training.first_step,
            location=training.made.location,
            evidence=[loss_curve(training)],
        )

    def _note(self, trace: Trace, training: Training) -> Finding:
        steps = len(training.losses)
        diagnosis: Diagnosis = LossIsZero(steps=steps)
        if any(training.values):
            diagnosis = LossStays(
                steps=steps,
                first=median(training.head),
                last=median(training.tail),
                still_falls=ranks_lower(training.tail, than=training.values[: steps // 2]) > ERRORS,
            )
        return self.found(
            trace,
            diagnosis,
            severity="note",
            step=training.losses[steps // 2][0],
            location=training.made.location,
            evidence=[loss_curve(training)],
        )


def _rose(trace: Trace, training: Training) -> bool:
    """Tell whether an error rose far above its start and stays there, in a program whose targets stay the same."""
    if len(training.losses) < LONG or median(training.tail) < ROSE * median(training.head):
        return False
    graph = ForwardGraph(trace)
    roots = [graph.operation(root.order) for root in graph.losses if root.order is not None]
    signs = [signed[0] for root in roots if (signed := error_behind(graph, root)) is not None]
    is_error = bool(signs) and len(signs) == len(roots) and all(sign > 0 for sign in signs)
    late = training.values[-max(3, len(training.values) // 10) :]
    stays = min(late) > median(training.head)
    return is_error and stays and not graph.has_moving_targets


def _carries_on(training: Training, every: list[Training]) -> bool:
    """Tell whether the loss starts below that of an earlier optimizer, which then did the learning."""
    return any(
        earlier.losses
        and earlier.losses[0][0] < training.losses[0][0]
        and is_lower(training.head, than=earlier.head)
        for earlier in every
    )


def _fell_before(training: Training) -> bool:
    """Tell whether the loss did fall in the first half and only rose again later."""
    quarter = len(training.losses) // 4
    return is_lower(training.values[quarter : 2 * quarter], than=training.head)


def _repeats(training: Training) -> bool:
    """Tell whether the losses of the second half are all the same and not 0."""
    tail = training.tail
    return max(tail) > 0 and max(tail) - min(tail) <= SAME * max(tail)
