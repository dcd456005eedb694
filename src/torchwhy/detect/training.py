"""The course of training as the detectors of *dynamics* read it: losses, rates, updates, what was learnt."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean, median

from torchwhy.detect.history import element_counts, total_size
from torchwhy.record.events import OptimizerDescribed, OptimizerMade, Step, Weights
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

ENOUGH_STEPS = 40  # a shorter run is too short to say that it does not learn; scripts of 5 to 30 steps are trials
FALL = 0.02  # a mean loss that is lower by less than this share has not fallen
THROWN_UP = 2.0  # losses above the first one by this much are the updates' doing, not noise
HALF = 0.5  # a loss that has halved has fallen, however noisy it is
ERRORS = 3.0  # standard errors by which two means must differ; at 3, one healthy comparison in 700 is off
GREW = 10.0  # a loss that stays this many times above its first value is worse than not training
ADAPTIVE = frozenset(
    {"Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adagrad", "SparseAdam"}
)
BY_LINE_SEARCH = frozenset({"LBFGS"})


@dataclass(frozen=True)
class Training:
    """What one optimizer did in the whole run. `alone`: no other optimizer trained in turn with it."""

    made: OptimizerMade
    losses: list[tuple[int, float]]
    rates: list[tuple[int, float]]
    samples: list[Weights]
    described: OptimizerDescribed | None
    counts: dict[str, int]
    alone: bool

    @property
    def values(self) -> list[float]:
        """Return the finite losses, oldest first."""
        return [loss for _, loss in self.losses]

    @property
    def is_judged(self) -> bool:
        """Tell whether the losses say anything about progress: enough of them, positive, and of one optimizer only.

        Losses below zero belong to games and policies, whose size is no measure of what was learnt.
        """
        return (
            self.alone
            and self.made.kind not in BY_LINE_SEARCH
            and len(self.losses) >= ENOUGH_STEPS
            and min(self.values) >= 0
        )

    @property
    def head(self) -> list[float]:
        """Return the first losses; only the very first where the updates threw the next ones up.

        What a run recovers to after that is no progress.
        """
        first = self.values[: max(3, len(self.losses) // 20)]
        return first if median(first) <= THROWN_UP * first[0] else first[:1]

    @property
    def tail(self) -> list[float]:
        """Return the losses of the second half."""
        return self.values[len(self.losses) // 2 :]

    @property
    def never_learnt(self) -> bool:
        """Tell whether the second half of the run is no better than its first steps."""
        return self.is_judged and not is_lower(self.tail, than=self.head)

    @property
    def rests(self) -> bool:
        """Tell whether the loss no longer falls in the second half; also true of one that has been learnt."""
        quarter = len(self.losses) // 4
        return self.is_judged and not is_lower(self.tail, than=self.values[quarter : 2 * quarter])

    @property
    def stays_grown(self) -> bool:
        """Tell whether the last quarter of the run lies an order of magnitude above its first loss."""
        if not self.alone or len(self.losses) < 4 or self.losses[0][1] <= 0:
            return False
        return median(self.values[-max(2, len(self.losses) // 4) :]) >= GREW * self.losses[0][1]

    @property
    def rate(self) -> float | None:
        """Return the highest rate of the first group."""
        return max((rate for _, rate in self.rates), default=None)

    def rate_at(self, step: int) -> float:
        """Return the rate of one step."""
        return next(
            (rate for since, rate in reversed(self.rates) if since <= step), self.rate or 0.0
        )

    def relative_update(self, sample: Weights) -> float:
        """Return how large one update is against the weights it changes."""
        weights = total_size(sample.names, sample.weight_rms, self.counts)
        slope = 1.0  # an adaptive method moves every weight by about the rate
        if self.made.kind not in ADAPTIVE:
            slope = total_size(sample.names, sample.gradient_rms, self.counts)
        update = self.rate_at(sample.step) * slope
        return update / weights if weights else math.inf if update else 0.0

    @property
    def largest_update(self) -> tuple[int, float]:
        """Return step and relative size of the largest of the sampled updates."""
        sizes = [(sample.step, self.relative_update(sample)) for sample in self.samples]
        return max(sizes, key=lambda pair: pair[1], default=(0, 0.0))

    def moved(self) -> float:
        """Return about how far the weights went in the whole run, relative to their size."""
        if not self.samples:
            return math.inf
        return fmean(map(self.relative_update, self.samples)) * len(self.losses)


def trainings(trace: Trace) -> Iterator[Training]:
    """Yield the course of every optimizer that made a step."""
    steps: dict[int, list[Step]] = {}
    for step in trace.steps:
        steps.setdefault(step.optimizer, []).append(step)
    described = {d.index: d for d in trace.of(OptimizerDescribed)}
    samples: dict[int, list[Weights]] = {}
    for sample in trace.of(Weights):
        samples.setdefault(sample.optimizer, []).append(sample)
    for made in trace.of(OptimizerMade):
        own = steps.get(made.index, [])
        if own:
            yield Training(
                made=made,
                losses=list(_losses(own)),
                rates=_rates(own, made),
                samples=samples.get(made.index, []),
                described=described.get(made.index),
                counts=element_counts(trace, made.index),
                alone=_is_alone(own, steps),
            )


def _losses(steps: list[Step]) -> Iterator[tuple[int, float]]:
    for step in steps:
        if step.losses:
            mean = fmean(map(decode, step.losses))
            if math.isfinite(mean):
                yield step.step, mean


def _rates(steps: list[Step], made: OptimizerMade) -> list[tuple[int, float]]:
    rates = [(step.step, step.rates[0]) for step in steps if step.rates]
    default = made.defaults.get("lr")
    if not rates and isinstance(default, (int, float)):
        rates = [(steps[0].step, float(default))]
    return rates


def _is_alone(own: list[Step], steps: dict[int, list[Step]]) -> bool:
    """Tell whether no other optimizer made steps between the first and the last of this one."""
    first, last = own[0].step, own[-1].step
    return len(own) > last - first or not any(
        first < step.step < last
        for others in steps.values()
        if others is not own
        for step in others
    )


def is_lower(values: list[float], *, than: list[float]) -> bool:
    """Tell whether the middle of some losses is lower than that of earlier ones by more than chance and a little.

    Medians, because a spike of one step says nothing about what was learnt in the others.
    """
    if not values or not than:
        return False
    fall = median(than) - median(values)
    if fall > HALF * abs(median(than)):
        return True
    error = math.hypot(_error(values), _error(than))
    return fall > max(FALL * abs(median(than)), ERRORS * error)


def _error(values: list[float]) -> float:
    """Return the standard error of a median, from the median distance to it."""
    middle = median(values)
    spread = 1.4826 * median(abs(value - middle) for value in values)
    return 1.2533 * spread / math.sqrt(len(values))
