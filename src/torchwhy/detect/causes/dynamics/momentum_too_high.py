from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import correlation, median

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.dynamics.learning_rate_too_high import weights_diverged
from torchwhy.detect.checks.standing_questions import STABLE
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

HIGH = 0.99  # At this momentum an update's velocity lasts for a hundred steps.
ENDLESS = 1.0  # At this momentum it never decays.
USUAL_BOUND = 3.8  # Learning rate × curvature at which momentum 0.9 becomes unstable: 2 (1 + 0.9).
SWINGS = (
    3  # The loss must rise this often from below a quarter of its first value to above half of it.
)
LOW = 0.5  # The half in the sentence above.
THROWN = 10.0  # Highest loss over the first ones; a loss that does not fall for another reason stays near its start.
ORDERLY = (
    0.5  # Correlation of losses one or two steps apart; for batches drawn at random it is near 0.
)
SMALLEST = 1e-30  # Keeps the logarithm of a loss of 0 finite.
LAGS = (1, 2)  # A swing with a period of four steps shows at lag 2, any other period at lag 1.


class MomentumLasts(Diagnosis):
    """The momentum carries velocities too long: the loss swings, or training fails."""

    momentum: float
    steps: int
    swings: int
    harm: Diagnosis | None  # None if the loss swings, which is the harm then.
    message = "momentum={momentum:g} remembers {memory} in a run of {steps} steps: {outcome}"
    advice = "lower momentum={momentum:g} to 0.9"

    @property
    def memory(self) -> str:
        """Return how long a velocity lasts."""
        if self.momentum >= ENDLESS:
            return "every gradient forever"
        return f"{1 / (1 - self.momentum):.0f} steps"

    @property
    def outcome(self) -> str:
        """Return the harm."""
        if self.harm is not None:
            return self.harm.sentence
        return f"the loss came back up {self.swings} times"


class MomentumTooHigh(Detector):
    """The momentum is so high that old velocities carry the weights past the minimum again and again."""

    name = "momentum-too-high"
    question = STABLE

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
            # A run that overflowed has no swings to count, so its growth and the measured curvature decide.
            harmed = _was_measured(trace, training) if trace.alarms else swings >= SWINGS
            harmed = harmed or (not trace.alarms and _was_thrown(trace, training, momentum))
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
            step=training.first_step,
            location=training.made.location,
            evidence=(
                *([loss_curve(training)] if training.losses else []),
                *(
                    Evidence(
                        f"lr={m.rate:g} by itself is stable: learning rate × curvature is "
                        f"{m.rate * m.curvature:.2g}, and momentum 0.9 allows up to {USUAL_BOUND:g}",
                        value=m.rate * m.curvature,
                        step=m.step,
                    )
                    for m in curvatures(trace, training)[:1]
                ),
            ),
            births=trouble.births if trouble is not None else (),
        )


def _was_measured(trace: Trace, training: Training) -> bool:
    """Tell whether the curvature was measured and the optimizer's updates made its weights diverge."""
    grown = any(one.made.index == training.made.index for one in weights_diverged(trace))
    return grown and bool(curvatures(trace, training))


def _was_thrown(trace: Trace, training: Training, momentum: float) -> bool:
    """Tell whether no velocity decayed in the whole run, and the loss rose far above its start."""
    if not training.is_judged or not training.alone or not curvatures(trace, training):
        return False
    lasts = (1 - momentum) * len(training.losses) <= 1
    return lasts and max(training.values) >= THROWN * median(training.head)


def _rate_is_stable(trace: Trace, training: Training) -> bool:
    """Tell whether the learning rate fits the first measured curvature; velocities change the later ones."""
    measured = curvatures(trace, training)
    return all(m.rate * m.curvature < USUAL_BOUND for m in measured[:1])


def _swings(training: Training) -> int:
    """Return how often the loss fell below a quarter of its first value and came back above half of it.

    Losses of small batches do so by chance; the losses of a swing are correlated with those before.
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
    """Tell whether each loss of the second half correlates with the one before; the first half may be one fall."""
    tail = [math.log(max(value, SMALLEST)) for value in values[len(values) // 2 :]]
    return any(abs(_correlation(tail[:-lag], tail[lag:])) >= ORDERLY for lag in LAGS)


def _correlation(one: list[float], other: list[float]) -> float:
    """Return the correlation coefficient of two series; 0 if one of them is constant."""
    if len(one) < 2 or min(one) == max(one) or min(other) == max(other):
        return 0.0
    return correlation(one, other)
