"""The course of training as the detectors of *dynamics* read it: losses, rates, updates, what was learnt."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean, median

from torchwhy.detect.views.training.history import element_counts, total_size
from torchwhy.record.events import OptimizerDescribed, OptimizerMade, Step, Weights
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

ENOUGH_STEPS = 40  # a shorter run is too short to say that it does not learn; scripts of 5 to 30 steps are trials
FALL = 0.02  # a mean loss that is lower by less than this share has not fallen
THROWN_UP = 2.0  # losses above the first one by this much are the updates' doing, not noise
HALF = 0.5  # a loss that has halved has fallen, however noisy it is
ERRORS = 3.0  # standard errors by which two means must differ; at 3, one healthy comparison in 700 is off
MODERATE = (
    0.15  # share of the loss; batches of 16 and more show a fall like this within forty steps
)
LUCKY = 0.02  # share of the losses as low as the first: of noise about one in fifty is, of a run thrown up none
SAME = 1e-6  # relative difference between losses that are one and the same up to rounding
OTHER_SLOPE = (
    1.1  # largest over smallest gradient of a run: on one batch and unchanged weights it is 1
)
PROMISED = 1e-3  # share of the loss that each update takes off by its slope; where layers are flat it is below 1e-6
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
    def climbs(self) -> bool:
        """Tell whether the optimizer was told to maximise: then a number that grows is what is wanted."""
        return self.made.defaults.get("maximize") is True

    @property
    def is_judged(self) -> bool:
        """Tell whether the losses say anything about progress: enough of them, positive, and of one optimizer only.

        Losses below zero belong to games and policies, whose size is no measure of what was learnt.
        """
        return (
            self.alone
            and not self.climbs
            and self.made.kind not in BY_LINE_SEARCH
            and len(self.losses) >= ENOUGH_STEPS
            and min(self.values) >= 0
            and not self._is_pinned
        )

    @property
    def _is_pinned(self) -> bool:
        """Tell whether the loss is one number by construction, as `a / a.detach()` is: only its slope tells anything.

        Of a loss that depends on the weights, steps along slopes that differ from step to step cannot leave every
        digit as it is. Weights that are put back, or a graph made once, have one and the same gradient at each step.
        """
        values = self.values
        if max(values) - min(values) > SAME * abs(max(values)):
            return False
        slopes = [total_size(one.names, one.gradient_rms, self.counts) for one in self.samples]
        if not slopes or not min(slopes) > 0 or max(slopes) < OTHER_SLOPE * min(slopes):
            return False
        slope, weights = median(slopes), sum(self.counts.get(n, 1) for n in self.samples[0].names)
        update = (self.rate or 0.0) * (1.0 if self.made.kind in ADAPTIVE else slope)
        return weights * slope * update > PROMISED * abs(max(values))

    @property
    def head(self) -> list[float]:
        """Return the first losses; only the very first where the updates threw the next ones up.

        What a run recovers to after that is no progress.
        """
        first = self.values[: max(3, len(self.losses) // 20)]
        thrown_up = median(first) > THROWN_UP * first[0] or max(first) > GREW * first[0]
        return first[:1] if thrown_up and not self._began_by_luck(median(first)) else first

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
        if not self.alone or self.climbs or len(self.losses) < 4 or self.losses[0][1] <= 0:
            return False
        level = median(self.values[-max(2, len(self.losses) // 4) :])
        return level >= GREW * self.losses[0][1] and not self._began_by_luck(level)

    @property
    def can_be_told(self) -> bool:
        """Tell whether the losses are steady enough to show a moderate fall, if there were one."""
        error = math.hypot(_error(self.head), _error(self.tail))
        return ERRORS * error <= MODERATE * abs(median(self.head))

    def _began_by_luck(self, level: float) -> bool:
        """Tell whether the first loss is below a level by chance, as in batches of a few samples.

        Their losses differ by orders of magnitude all the time, and come down to the first one now and then.
        """
        first, tail = self.values[0], self.tail
        if min(tail) <= 0 or first <= 0:
            return False
        logs = [math.log(value) for value in tail]
        as_low = sum(value <= first for value in self.values[1:])
        within = math.log(level / first) <= ERRORS * _spread(logs)
        if within and as_low >= max(2, LUCKY * len(self.losses)):
            return True
        # Squares of single errors reach far down: the lowest of the second half are like the first, its middle is not.
        lowest = sorted(tail)[len(tail) // 20]
        return lowest <= THROWN_UP * first and median(tail) >= THROWN_UP**2 * first

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
    # The largest over the groups: one that is frozen by a rate of 0 says nothing of the others.
    rates = [(step.step, max(step.rates)) for step in steps if step.rates]
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
    if fall <= FALL * abs(median(than)):
        return False
    # One loss alone does not tell how much it might have differed: those of the others tell it.
    error = math.hypot(_error(values), _error(than) if len(than) > 1 else _spread(values))
    return fall > ERRORS * error or ranks_lower(values, than=than) > ERRORS


def _error(values: list[float]) -> float:
    """Return the standard error of a median, from the median distance to it."""
    return 1.2533 * _spread(values) / math.sqrt(len(values))


def _spread(values: list[float]) -> float:
    """Return the standard deviation, from the median distance to the median: outliers do not count."""
    middle = median(values)
    return 1.4826 * median(abs(value - middle) for value in values)


def ranks_lower(values: list[float], *, than: list[float]) -> float:
    """Return by how many standard deviations the ranks of some losses lie below those of earlier ones.

    The test of Mann and Whitney. Where the earlier losses fall steeply themselves, their spread is progress and not
    noise, and an error made from it hides that every later loss is below nearly all of them.
    """
    ordered = sorted(than)
    above = sum(
        len(ordered) - (bisect_left(ordered, value) + bisect_right(ordered, value)) / 2
        for value in values
    )
    pairs = len(values) * len(than)
    return (above - pairs / 2) / math.sqrt(pairs * (len(values) + len(than) + 1) / 12)
