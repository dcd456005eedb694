"""How a learning-rate schedule went: the learning rate it led to, its order, and whether its cuts were justified."""

from __future__ import annotations

from torchwhy.detect.views.parameters.trained_parameters import ended_early
from torchwhy.detect.views.training.rates import ENOUGH_STEPS, RateHistory
from torchwhy.detect.views.training.training import is_lower, trainings
from torchwhy.plain_data import dataclass
from torchwhy.record.events import ScaleChanged
from torchwhy.record.learning import ParameterCensus, StepCalls
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import SchedulerSeen

BY_METRIC = "ReduceLROnPlateau"
HARDLY_BEGAN = 0.01  # A warm-up that ends at this share of its target is meant for a longer run.
WARMING = 0.1  # A warm-up starts below this share of the learning rate that it leads to.
FEW_LOSSES = 3  # Fewer losses have no meaningful median.


@dataclass(frozen=True)
class Schedule:
    """A scheduler with its settings and steps, and the learning rates of the optimizer's steps."""

    kind: str
    settings: dict[str, float]
    calls: int
    steps: int
    rates: tuple[float, ...]
    last_rate: float
    is_per_batch: bool
    by_metric: bool


def schedule_of(history: RateHistory) -> Schedule:
    """Return the schedule of a history; of several, the first."""
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
    """Return the highest learning rate that the optimizer was created with, before any scheduler changed it."""
    census = next(
        (one for one in trace.of(ParameterCensus) if one.optimizer == history.optimizer), None
    )
    return max(census.initial_rates, default=0.0) if census is not None else None


def never_left_warm_up(trace: Trace, history: RateHistory) -> bool:
    """Tell whether no scheduler was stepped and the learning rate stayed at the low value that one had set."""
    meant = meant_rate(trace, history)
    is_still = len({rate for _, rate in history.rates}) == 1 and not trace.of(SchedulerSeen)
    if meant is None or not is_still or ended_early(trace):
        return False
    return history.count >= ENOUGH_STEPS and 0 <= history.peak < WARMING * meant


def hardly_began(trace: Trace, history: RateHistory) -> bool:
    """Tell whether a learning rate that only rose was still tiny at the end, and the model learnt nothing."""
    peak, meant = history.peak, meant_rate(trace, history) or 0.0
    rose = history.first_cut is None and history.rates[-1][1] > history.rates[0][1]
    if history.count < ENOUGH_STEPS or not rose or ended_early(trace):
        return False
    if not 0 < peak < HARDLY_BEGAN * meant:
        return False
    own = (one for one in trainings(trace) if one.made.index == history.optimizer)
    return any(training.never_learnt for training in own)


def had_come_to_rest(trace: Trace, history: RateHistory) -> bool:
    """Tell whether the loss had stopped falling when the learning rate was first cut, which justifies the cut."""
    cut = history.first_cut
    training = next((one for one in trainings(trace) if one.made.index == history.optimizer), None)
    if cut is None or training is None:
        return False
    before = [loss for step, loss in training.losses if step < cut]
    third = len(before) // 3
    return third >= FEW_LOSSES and not is_lower(before[-third:], than=before[-2 * third : -third])


def came_first(trace: Trace, scheduler: SchedulerSeen) -> bool:
    """Tell whether the scheduler was stepped once before the first optimizer step; a resumed run does so more often."""
    if scheduler.kind == BY_METRIC or scheduler.optimizer < 0 or scheduler.optimizer_steps:
        return False
    if trace.of(ScaleChanged):
        return False  # GradScaler may have skipped the optimizer's step, so the order is right.
    calls = next(iter(trace.of(StepCalls)), None)
    before = [call for call in calls.calls if call.name == "scheduler"] if calls is not None else []
    return len(before) == 1
