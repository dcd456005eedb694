"""What became of a learning-rate schedule: the rate it led to, whether it came in time, whether it was right."""

from __future__ import annotations

from dataclasses import dataclass

from torchwhy.detect.views.parameters.trained_parameters import program_died
from torchwhy.detect.views.training.rates import ENOUGH_STEPS, RateHistory
from torchwhy.detect.views.training.training import is_lower, trainings
from torchwhy.record.events import ScaleChanged
from torchwhy.record.learning import ParameterCensus, StepCalls
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import SchedulerSeen

BY_METRIC = "ReduceLROnPlateau"
HARDLY_BEGAN = (
    0.01  # of the rate it leads to: a warm-up that is there at the end was meant for another run
)
WARMING = 0.1  # of the rate it leads to: what a warm-up begins with is lower
FEW_LOSSES = 3  # of which no middle can be told


@dataclass(frozen=True)
class Schedule:
    """A scheduler as it was made and stepped, and the rates of the optimizer's steps."""

    kind: str
    settings: dict[str, float]
    calls: int
    steps: int
    rates: tuple[float, ...]
    last_rate: float
    is_per_batch: bool
    by_metric: bool


def schedule_of(history: RateHistory) -> Schedule:
    """Return the scheduler of a history; of several the first."""
    first = history.schedulers[0]
    return Schedule(
        kind=first.kind,
        settings=first.settings,
        calls=history.calls,
        steps=history.count,
        rates=history.thinned(),
        last_rate=history.rates[-1][1],
        is_per_batch=history.is_per_batch,
        by_metric=any(one.kind == BY_METRIC for one in history.schedulers),
    )


def meant_rate(trace: Trace, history: RateHistory) -> float | None:
    """Return the highest rate that the optimizer was made with, before any scheduler changed it."""
    census = next(
        (one for one in trace.of(ParameterCensus) if one.optimizer == history.optimizer), None
    )
    return max(census.initial_rates, default=0.0) if census is not None else None


def never_left_warm_up(trace: Trace, history: RateHistory) -> bool:
    """Tell whether no scheduler was stepped, and the rate stayed at the low value that one of them had set."""
    meant = meant_rate(trace, history)
    is_still = len({rate for _, rate in history.rates}) == 1 and not trace.of(SchedulerSeen)
    if meant is None or not is_still or program_died(trace):
        return False
    return history.count >= ENOUGH_STEPS and 0 <= history.peak < WARMING * meant


def hardly_began(trace: Trace, history: RateHistory) -> bool:
    """Tell whether a rate that only rose was still next to nothing at the end, and so nothing was learnt."""
    peak, meant = history.peak, meant_rate(trace, history) or 0.0
    rose = history.first_cut is None and history.rates[-1][1] > history.rates[0][1]
    if history.count < ENOUGH_STEPS or not rose or program_died(trace):
        return False
    if not 0 < peak < HARDLY_BEGAN * meant:
        return False
    own = (one for one in trainings(trace) if one.made.index == history.optimizer)
    return any(training.never_learnt for training in own)


def had_come_to_rest(trace: Trace, history: RateHistory) -> bool:
    """Tell whether the loss no longer fell when the rate was cut for the first time: then the cut was right."""
    cut = history.first_cut
    training = next((one for one in trainings(trace) if one.made.index == history.optimizer), None)
    if cut is None or training is None:
        return False
    before = [loss for step, loss in training.losses if step < cut]
    third = len(before) // 3
    return third >= FEW_LOSSES and not is_lower(before[-third:], than=before[-2 * third : -third])


def came_first(trace: Trace, scheduler: SchedulerSeen) -> bool:
    """Tell whether the schedule was stepped once before the first step; a resumed run does so several times."""
    if scheduler.kind == BY_METRIC or scheduler.optimizer < 0 or scheduler.optimizer_steps:
        return False
    if trace.of(ScaleChanged):
        return False  # a GradScaler may have skipped the step, and the order is right
    calls = next(iter(trace.of(StepCalls)), None)
    before = [call for call in calls.calls if call.name == "scheduler"] if calls is not None else []
    return len(before) == 1
