from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from torchwhy.detect.base import Detector
from torchwhy.detect.views.training.looks import Measured, curvatures
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.sweeps import judged_among, outdone_by
from torchwhy.detect.views.training.training import (
    ERRORS,
    SAME,
    THROWN_UP,
    Training,
    is_lower,
    ranks_lower,
    trainings,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import LossRoot
from torchwhy.record.trace import Trace

WORTH_IT = 0.05  # share of the loss that one step at the stable rate would take off
STABLE = 0.99  # rate over stable rate: a loss that jumps across its minimum at each step repeats itself, too
LONG = 100  # steps after which a noisy loss that did not fall is worth a note


class StuckLoss(Detector):
    """The loss is the same at every step although its gradient says that it could fall."""

    name = "stuck-loss"
    needs = frozenset({"loss", "curvature"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if trace.alarms:
            return
        courses = list(trainings(trace))
        for training in courses:
            if not training.never_learnt:
                continue
            measured = next((m for m in curvatures(trace, training) if m.ratio < STABLE), None)
            if _repeats(training) and measured is not None and measured.possible >= WORTH_IT:
                yield judged_among(self._finding(trace, training, measured), training, trace)
            elif (
                len(training.losses) >= LONG
                and training.can_be_told
                and not _repeats(training)
                and median(training.tail) <= THROWN_UP * median(training.head)
                and not _carries_on(training, courses)
                and not _fell_before(training)
                and outdone_by(training, trace) is None
            ):
                yield self._note(trace, training)

    def _finding(self, trace: Trace, training: Training, measured: Measured) -> Finding:
        root = next(iter(trace.of(LossRoot)), None)
        zero = " (lr is 0)" if not training.rate else ""
        return Finding(
            detector=self.name,
            severity="warning",
            message=(
                f"the loss is {training.values[-1]:.6g} at every step{zero}, though one update at the "
                "stable rate would lower it "
                f"by about {measured.possible:.0%}: the updates do not reach what the loss is computed from"
            ),
            step=training.losses[len(training.losses) // 2][0],
            rank=trace.rank,
            location=root.location if root is not None else training.made.location,
            evidence=(
                Evidence(
                    "part of the loss that one step can take off",
                    value=measured.possible,
                    step=measured.step,
                ),
                loss_curve(training),
            ),
            fixes=(
                Fix(
                    title="compare a weight before and after a step, and in the next forward: who puts it back?",
                    safety="show-only",
                ),
            ),
        )

    def _note(self, trace: Trace, training: Training) -> Finding:
        first, last = median(training.head), median(training.tail)
        half = len(training.losses) // 2
        falls_on = ranks_lower(training.tail, than=training.values[:half]) > ERRORS
        message = (
            f"the loss {'hardly fell' if last < first else 'did not fall'} in {len(training.losses)} steps: "
            f"{first:.4g} at first, {last:.4g} in the second half; "
            f"{'it still falls, but slowly' if falls_on else 'it may be at its floor'}"
        )
        if not any(training.values):
            message = f"the loss is 0 in all {len(training.losses)} steps: there is nothing to learn from it"
        return Finding(
            detector=self.name,
            severity="note",
            message=message,
            step=training.losses[len(training.losses) // 2][0],
            rank=trace.rank,
            location=training.made.location,
            evidence=(loss_curve(training),),
        )


def _carries_on(training: Training, courses: list[Training]) -> bool:
    """Tell whether it starts below where an earlier optimizer of the run started: the falling was done before."""
    return any(
        earlier.losses
        and earlier.losses[0][0] < training.losses[0][0]
        and is_lower(training.head, than=earlier.head)
        for earlier in courses
    )


def _fell_before(training: Training) -> bool:
    """Tell whether the loss did fall in the first half: what it rose by later is another story."""
    quarter = len(training.losses) // 4
    return is_lower(training.values[quarter : 2 * quarter], than=training.head)


def _repeats(training: Training) -> bool:
    """Tell whether the losses of the second half are all the same, and are not zero."""
    tail = training.tail
    return max(tail) > 0 and max(tail) - min(tail) <= SAME * max(tail)
