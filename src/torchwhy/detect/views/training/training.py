"""How each optimizer's training went: losses, learning rates, updates, and whether the model learnt."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from statistics import fmean, median

from torchwhy.detect.views.training.history import element_counts, total_size
from torchwhy.plain_data import dataclass
from torchwhy.record.events import OptimizerDescribed, OptimizerMade, Step, Weights
from torchwhy.record.numbers import Real, decode
from torchwhy.record.trace import Trace

ENOUGH_STEPS = (
    40  # A shorter run cannot show that it does not learn; scripts of 5 to 30 steps are trials.
)
FALL = 0.02  # A median loss that is lower by less than this share has not fallen.
JUMPED = 2.0  # Updates, not noise, raise the losses to this many times the first one.
HALF = 0.5  # A loss that has halved has fallen, however noisy it is.
ERRORS = 3.0  # Standard errors by which two medians must differ; at 3, one healthy comparison in 700 is wrong.
MODERATE = 0.15  # Share of the loss; batches of 16 and more show such a fall within forty steps.
LUCKY = 0.02  # Of noisy losses about one in fifty is as low as the first; after a first update that failed, none is.
SAME = 1e-6  # Relative difference between losses that float32 rounding explains.
OTHER_SLOPE = (
    1.1  # Largest over smallest gradient of a run; with one batch and unchanged weights it is 1.
)
PROMISED = 1e-3  # Share of the loss that an update should take off by its slope; with flat layers it is below 1e-6.
GREW = 10.0  # A loss that stays this many times above its first value is worse than no training.
ADAPTIVE = frozenset(
    {"Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adagrad", "SparseAdam"}
)
BY_LINE_SEARCH = frozenset({"LBFGS"})


@dataclass(frozen=True)
class Training:
    """What one optimizer did in the whole run; `alone` means that no other optimizer stepped in turn with it.

    `cut` means that a rehearsal ended the program, so that this is only the beginning.
    """

    made: OptimizerMade
    losses: list[tuple[int, float]]
    rates: list[tuple[int, float]]
    samples: list[Weights]
    described: OptimizerDescribed | None
    counts: dict[str, int]
    alone: bool
    cut: bool = False

    @cached_property
    def values(self) -> list[float]:
        """Return the finite losses, oldest first."""
        return [loss for _, loss in self.losses]

    @property
    def first_step(self) -> int:
        """Return the step at which this training began."""
        return self.losses[0][0] if self.losses else 0

    @property
    def maximizes(self) -> bool:
        """Tell whether the optimizer maximises its objective."""
        return self.made.defaults.get("maximize") is True

    @cached_property
    def is_judged(self) -> bool:
        """Tell whether the losses measure progress: enough of them, none below 0, of one optimizer only.

        Losses below 0 belong to games and policies, and their size does not measure learning.
        """
        return (
            self.alone
            and not self.maximizes
            and self.made.kind not in BY_LINE_SEARCH
            and len(self.losses) >= ENOUGH_STEPS
            and min(self.values) >= 0
            and not self._is_pinned
        )

    @cached_property
    def _is_pinned(self) -> bool:
        """Tell whether the loss is constant by construction, as `a / a.detach()` is, and only its gradient matters.

        If a loss depends on the weights, steps along gradients that differ from step to step change its digits. If
        the program restores its weights or reuses one graph, the gradient is the same at each step.
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
    def is_beginning(self) -> bool:
        """Tell whether a rehearsal ended so early that nothing lasts yet: within a few steps, or in a warm-up."""
        rises = (
            bool(self.rates) and self.rates[-1][1] == self.rate and self.rate != self.rates[0][1]
        )
        return self.cut and (len(self.losses) < ENOUGH_STEPS or rises)

    @cached_property
    def head(self) -> list[float]:
        """Return the first losses; only the very first one if the updates raised the next ones.

        Recovery from such a rise is no progress.
        """
        first = self.values[: max(3, len(self.losses) // 20)]
        jumped = median(first) > JUMPED * first[0] or max(first) > GREW * first[0]
        return first[:1] if jumped and not self._began_by_luck(median(first)) else first

    @cached_property
    def tail(self) -> list[float]:
        """Return the losses of the second half."""
        return self.values[len(self.losses) // 2 :]

    @cached_property
    def fell(self) -> bool:
        """Tell whether the second half of the run is better than its first steps."""
        return self.is_judged and is_lower(self.tail, than=self.head)

    @cached_property
    def never_learnt(self) -> bool:
        """Tell whether the second half of the run is no better than its first steps."""
        return self.is_judged and not self.is_beginning and not self.fell

    @cached_property
    def plateaued(self) -> bool:
        """Tell whether the loss no longer falls in the second half, be it high or low."""
        quarter = len(self.losses) // 4
        return (
            self.is_judged
            and not self.is_beginning
            and not is_lower(self.tail, than=self.values[quarter : 2 * quarter])
        )

    @cached_property
    def stays_grown(self) -> bool:
        """Tell whether the last quarter of the run lies an order of magnitude above its first loss."""
        if not self.alone or self.maximizes or len(self.losses) < 4 or self.losses[0][1] <= 0:
            return False
        if self.is_beginning:
            return False
        level = median(self.values[-max(2, len(self.losses) // 4) :])
        return level >= GREW * self.losses[0][1] and not self._began_by_luck(level)

    @cached_property
    def is_steady(self) -> bool:
        """Tell whether the losses are steady enough to show a moderate fall."""
        error = math.hypot(_error(self.head), _error(self.tail))
        return ERRORS * error <= MODERATE * abs(median(self.head))

    def _began_by_luck(self, level: float) -> bool:
        """Tell whether the first loss is below a level by chance, as with batches of a few samples.

        Their losses vary by orders of magnitude, and some later ones are as low as the first.
        """
        first, tail = self.values[0], self.tail
        if min(tail) <= 0 or first <= 0:
            return False
        logs = [math.log(value) for value in tail]
        as_low = sum(value <= first for value in self.values[1:])
        within = math.log(level / first) <= ERRORS * _spread(logs)
        if within and as_low >= max(2, LUCKY * len(self.losses)):
            return True
        # Squares of single errors reach far down: the lowest losses of the second half match the first, not the median.
        lowest = sorted(tail)[len(tail) // 20]
        return lowest <= JUMPED * first and median(tail) >= JUMPED**2 * first

    @cached_property
    def rate(self) -> float | None:
        """Return the highest learning rate of the run."""
        return max((rate for _, rate in self.rates), default=None)

    def rate_at(self, step: int) -> float:
        """Return the learning rate of one step."""
        return next(
            (rate for since, rate in reversed(self.rates) if since <= step), self.rate or 0.0
        )

    def relative_update(self, sample: Weights) -> float:
        """Return the size of one update relative to the weights that it changes."""
        weights = total_size(sample.names, sample.weight_rms, self.counts)
        slope = 1.0  # An adaptive optimizer moves every weight by about the learning rate.
        if self.made.kind not in ADAPTIVE:
            slope = total_size(sample.names, sample.gradient_rms, self.counts)
        update = self.rate_at(sample.step) * slope
        return update / weights if weights else math.inf if update else 0.0

    @cached_property
    def largest_update(self) -> tuple[int, float]:
        """Return step and relative size of the largest of the sampled updates."""
        sizes = [(sample.step, self.relative_update(sample)) for sample in self.samples]
        return max(sizes, key=lambda pair: pair[1], default=(0, 0.0))

    def moved(self) -> float:
        """Return about how far the weights moved in the whole run, relative to their size."""
        if not self.samples:
            return math.inf
        return fmean(map(self.relative_update, self.samples)) * len(self.losses)


def trainings(trace: Trace) -> Sequence[Training]:
    """Return the training of every optimizer that made a step."""
    return trace.once(_trainings)


def _trainings(trace: Trace) -> tuple[Training, ...]:
    return tuple(_each_training(trace))


def _each_training(trace: Trace) -> Iterator[Training]:
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
                losses=list(_losses(own, trace.closure_losses)),
                rates=_rates(own, made),
                samples=samples.get(made.index, []),
                described=described.get(made.index),
                counts=element_counts(trace, made.index),
                alone=_is_alone(own, steps),
                cut=trace.was_cut,
            )


def _losses(steps: list[Step], of_closures: dict[int, Real]) -> Iterator[tuple[int, float]]:
    for step in steps:
        closure = of_closures.get(step.step)
        losses = step.losses or ([] if closure is None else [closure])
        if losses:
            mean = decode(losses[0]) if len(losses) == 1 else fmean(map(decode, losses))
            if math.isfinite(mean):
                yield step.step, mean


def _rates(steps: list[Step], made: OptimizerMade) -> list[tuple[int, float]]:
    # The largest over the groups, because a group with a learning rate of 0 is frozen.
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


def is_lower(values: list[float], *, than: list[float], errors: float = ERRORS) -> bool:
    """Tell whether the median of some losses lies significantly below that of earlier ones.

    Medians ignore a spike of a single step. `errors` is the number of standard errors that count as significant.
    """
    if not values or not than:
        return False
    fall = median(than) - median(values)
    if fall > HALF * abs(median(than)):
        return True
    if fall <= FALL * abs(median(than)):
        return False
    # A single loss has no spread of its own, so the spread of the others stands in.
    error = math.hypot(_error(values), _error(than) if len(than) > 1 else _spread(values))
    return fall > errors * error or ranks_lower(values, than=than) > errors


def _error(values: list[float]) -> float:
    """Return the standard error of the median, estimated from the median absolute deviation."""
    return 1.2533 * _spread(values) / math.sqrt(len(values))


def _spread(values: list[float]) -> float:
    """Return the standard deviation, estimated from the median absolute deviation, which ignores outliers."""
    middle = median(values)
    return 1.4826 * median(abs(value - middle) for value in values)


def ranks_lower(values: list[float], *, than: list[float]) -> float:
    """Return by how many standard deviations the ranks of some losses lie below those of earlier ones.

    This is the Mann–Whitney test. If the earlier losses fall steeply, their spread is progress, not noise; an error
    estimated from it would hide that every later loss is below nearly all of them.
    """
    ordered = sorted(than)
    above = sum(
        len(ordered) - (bisect_left(ordered, value) + bisect_right(ordered, value)) / 2
        for value in values
    )
    pairs = len(values) * len(than)
    return (above - pairs / 2) / math.sqrt(pairs * (len(values) + len(than) + 1) / 12)
