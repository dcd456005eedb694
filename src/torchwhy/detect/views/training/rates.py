"""The learning rate of each optimizer over its steps, and the schedulers that set it."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.views.parameters.trained_parameters import steps_of
from torchwhy.plain_data import dataclass
from torchwhy.record.events import OptimizerMade, Step
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import CallsCounted, SchedulerSeen

DEAD = 1e-3  # At this share of the largest learning rate, a thousand steps do what one did before.
DEAD_SHARE = 0.5  # Schedules that end low do so later than in the middle of the run.
ENOUGH_STEPS = 20  # A shorter run is a trial.
ZERO_SHARE = (
    0.1  # Share of the run at a learning rate of 0; a linear decay has one such step, its last.
)
FEW = 5  # Rounding or an off-by-one may cause this many steps at a learning rate of 0.
PER_BATCH = 0.8  # From this many scheduler steps per optimizer step on, the program steps it once per batch.
TURNS = 4  # A cosine schedule is meant to fall once; with this many half waves it oscillates.
MOST_SHOWN = 60  # A curve shows about this many points.
LENGTHS = ("total_steps", "T_max", "total_iters")
AS_LONG = (
    0.8  # A schedule whose length is within this ratio of the training's counts optimizer steps.
)
HARDLY_STEPPED = 0.25  # Share of its length that such a schedule went through at most.


@dataclass(frozen=True)
class RateHistory:
    """The learning rates of one optimizer's steps: the largest over its groups, which ignores frozen groups."""

    optimizer: int
    rates: list[tuple[int, float]]
    schedulers: list[SchedulerSeen]
    calls: int
    calls_of_first: int

    @property
    def count(self) -> int:
        """Return the number of steps."""
        return len(self.rates)

    @property
    def peak(self) -> float:
        """Return the largest learning rate."""
        return max(rate for _, rate in self.rates)

    @property
    def is_level_at_the_end(self) -> bool:
        """Tell whether the learning rate was one and the same in the second half of the steps."""
        return len({rate for _, rate in self.rates[self.count // 2 :]}) == 1

    @property
    def is_per_batch(self) -> bool:
        """Tell whether the schedule is stepped as often as the optimizer."""
        return self.calls >= PER_BATCH * self.count

    @property
    def negative_since(self) -> int | None:
        """Return the first step with a learning rate below 0."""
        return next((step for step, rate in self.rates if rate < 0), None)

    @property
    def zero_since(self) -> int | None:
        """Return the step since which the learning rate is 0, if that is a large part of the run."""
        since = self._low_since(0.0)
        if since is None or self.peak <= 0:
            return None
        left = self.steps_after(since)
        return since if left > max(FEW, ZERO_SHARE * self.count) else None

    @property
    def dead_since(self) -> int | None:
        """Return the step since which the learning rate is below 1/1000 of its peak, if that is most of the run."""
        since = self._low_since(DEAD * self.peak)
        if since is None or self.count < ENOUGH_STEPS:
            return None
        return since if self.steps_after(since) >= DEAD_SHARE * self.count else None

    @property
    def first_cut(self) -> int | None:
        """Return the first step whose learning rate is lower than that of the step before."""
        pairs = zip(self.rates, self.rates[1:], strict=False)
        return next((step for (_, before), (step, rate) in pairs if rate < before), None)

    @property
    def turns(self) -> float:
        """Return how many half waves a cosine schedule stepped per batch went through; it is meant for one."""
        scheduler = self.schedulers[0] if self.schedulers else None
        length = (
            scheduler.settings.get("T_max", 0.0)
            if scheduler and scheduler.kind == "CosineAnnealingLR"
            else 0.0
        )
        turns = self.calls_of_first / length if length and self.is_per_batch else 0.0
        return turns if turns >= TURNS else 0.0

    @property
    def left_over(self) -> float:
        """Return the length of a schedule that is as long as the training and still raises the learning rate.

        A schedule that lowers it, stepped once per epoch, looks the same if training stops early, and is harmless.
        """
        scheduler = self.schedulers[0] if len(self.schedulers) == 1 else None
        settings = scheduler.settings if scheduler is not None else {}
        length = max((settings.get(name, 0.0) for name in LENGTHS), default=0.0)
        is_as_long = AS_LONG * self.count <= length <= self.count / AS_LONG
        rises = bool(self.rates) and self.rates[-1][1] > self.rates[0][1]
        return length if rises and is_as_long and self.calls < HARDLY_STEPPED * length else 0.0

    def steps_after(self, since: int) -> int:
        """Return the number of steps from `since` on."""
        return sum(step >= since for step, _ in self.rates)

    def rate_at(self, wanted: int) -> float:
        """Return the learning rate of one step."""
        return next(rate for step, rate in self.rates if step == wanted)

    def thinned(self) -> tuple[float, ...]:
        """Return the learning rates as a curve that fits on a line."""
        every = max(1, self.count // MOST_SHOWN)
        return tuple(rate for _, rate in self.rates[::every])

    def _low_since(self, bound: float) -> int | None:
        """Return the step since which every learning rate is at most `bound`; None if it was never above, or rose."""
        since = None
        for step, rate in reversed(self.rates):
            if rate > bound:
                return since
            since = step
        return None


def rate_histories(trace: Trace) -> Iterator[RateHistory]:
    """Yield the learning rates of every optimizer whose steps have one."""
    counted = {
        index: n for event in trace.of(CallsCounted) for index, n in event.schedulers.items()
    }
    for made in trace.of(OptimizerMade):
        rates = list(_rates(steps_of(trace, made.index)))
        own = [seen for seen in trace.of(SchedulerSeen) if seen.optimizer == made.index]
        if rates:
            calls = [counted.get(seen.index, 0) for seen in own]
            yield RateHistory(made.index, rates, own, sum(calls), calls[0] if calls else 0)


def _rates(steps: list[Step]) -> Iterator[tuple[int, float]]:
    current: float | None = None
    for step in steps:
        if step.rates:
            current = max(step.rates)
        if current is not None:
            yield step.step, current
