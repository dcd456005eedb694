from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import correlation

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.dynamics.learning_rate_too_high import weights_diverged
from torchwhy.detect.fixes.training import optimizers
from torchwhy.detect.views.training.network_facts import curvatures
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.sweeps import judged_among
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.detect.views.training.troubles import Trouble, find_trouble
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

HIGH = 0.99  # from here on a velocity lasts for a hundred steps
ENDLESS = 1.0  # at which a velocity never decays
USUAL_BOUND = 3.8  # rate · curvature at which momentum 0.9 becomes unstable: 2 (1 + 0.9)
SWINGS = 3  # times the loss must come back up, each time above half of where it started
LOW = 0.5
ORDERLY = 0.5  # correlation of the losses with those one or two steps before; of batches drawn at random it is near 0
SMALLEST = 1e-30  # so that a loss of 0 has a logarithm
LAGS = (
    1,
    2,
)  # a swing of any period shows at one of them: of four steps at the second, of others at the first


class MomentumLasts(Diagnosis):
    """A momentum that remembers for longer than the run can bear: the loss swings, or training fails."""

    momentum: float
    steps: int
    swings: int
    harm: Diagnosis | None  # None where the swings speak for themselves
    message = "momentum={momentum:g} remembers {memory}, in a run of {steps}: {outcome}"
    advice = "lower momentum={momentum:g} to 0.9"

    @property
    def memory(self) -> str:
        """Return how long a velocity lasts."""
        if self.momentum >= ENDLESS:
            return "for ever"
        return f"{1 / (1 - self.momentum):.0f} steps"

    @property
    def outcome(self) -> str:
        """Return what came of it."""
        if self.harm is not None:
            return self.harm.sentence
        return f"the loss came back up {self.swings} times"


class MomentumTooHigh(Detector):
    """The momentum is so high that old velocities carry the weights past the minimum again and again."""

    name = "momentum-too-high"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for training in trainings(trace):
            momentum = training.made.defaults.get("momentum")
            if (
                not isinstance(momentum, (int, float))
                or momentum < HIGH
                or training.made.defaults.get("nesterov")
            ):
                continue
            trouble = find_trouble(trace, training)
            swings = _swings(training)
            if trouble is None and swings < SWINGS:
                continue
            # A run that ended in infinity has no swings to count: what was measured on its way there must speak.
            harmed = _was_measured(trace, training) if trace.alarms else swings >= SWINGS
            if momentum >= ENDLESS or (harmed and _rate_is_stable(trace, training)):
                found = self._finding(
                    trace, training, float(momentum), swings=swings, trouble=trouble
                )
                yield judged_among(found, training, trace)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from optimizers.set_to(finding.location, source, "momentum", ("0.9",))

    def _finding(
        self,
        trace: Trace,
        training: Training,
        momentum: float,
        *,
        swings: int,
        trouble: Trouble | None,
    ) -> Finding:
        diagnosis = MomentumLasts(
            momentum=momentum,
            steps=len(training.losses),
            swings=swings,
            harm=trouble.harm if trouble is not None and swings < SWINGS else None,
        )
        return self.found(
            trace,
            diagnosis,
            severity="error",
            step=0,
            location=training.made.location,
            evidence=(
                *([loss_curve(training)] if training.losses else []),
                *(
                    Evidence(
                        f"lr={m.rate:g} by itself is stable: rate × curvature is "
                        f"{m.rate * m.curvature:.2g}, and momentum 0.9 "
                        f"allows {USUAL_BOUND:g}",
                        value=m.rate * m.curvature,
                        step=m.step,
                    )
                    for m in curvatures(trace, training)[:1]
                ),
            ),
            births=trouble.births if trouble is not None else (),
        )


def _was_measured(trace: Trace, training: Training) -> bool:
    """Tell whether the curvature is known and the failure is one of updates that carried the weights away."""
    grown = any(one.made.index == training.made.index for one in weights_diverged(trace))
    return grown and bool(curvatures(trace, training))


def _rate_is_stable(trace: Trace, training: Training) -> bool:
    measured = curvatures(trace, training)
    return all(m.rate * m.curvature < USUAL_BOUND for m in measured)


def _swings(training: Training) -> int:
    """Count how often the loss went below a quarter of its first value and came back above half of it.

    Losses of a few samples each do so by chance; those of a swing follow from one another.
    """
    if not training.alone or not training.losses or not _is_orderly(training.values):
        return 0
    first, count, low = training.losses[0][1], 0, False
    for _, loss in training.losses:
        if loss < LOW / 2 * first:
            low = True
        elif low and loss > LOW * first and math.isfinite(loss):
            low, count = False, count + 1
    return count


def _is_orderly(values: list[float]) -> bool:
    """Tell whether the losses of the second half follow from those before; the first half may be one long fall."""
    tail = [math.log(max(value, SMALLEST)) for value in values[len(values) // 2 :]]
    return any(abs(_correlation(tail[:-lag], tail[lag:])) >= ORDERLY for lag in LAGS)


def _correlation(one: list[float], other: list[float]) -> float:
    """Return the correlation coefficient of two series, 0 where one does not vary."""
    if len(one) < 2 or min(one) == max(one) or min(other) == max(other):
        return 0.0
    return correlation(one, other)
