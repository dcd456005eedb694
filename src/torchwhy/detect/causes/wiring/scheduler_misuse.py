from __future__ import annotations

from collections.abc import Iterator
from math import isclose

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import SCHEDULE
from torchwhy.detect.fixes.training import loops, schedules
from torchwhy.detect.views.parameters.trained_parameters import (
    ended_early,
    place_of,
)
from torchwhy.detect.views.schedules.plateau_facts import cut_while_improving
from torchwhy.detect.views.schedules.schedule_facts import (
    BY_METRIC,
    Schedule,
    came_first,
    had_come_to_rest,
    hardly_began,
    meant_rate,
    never_left_warm_up,
    schedule_of,
)
from torchwhy.detect.views.training.rates import ENOUGH_STEPS, RateHistory, rate_histories
from torchwhy.detect.views.training.source_statements import schedules_made
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, Severity, SourceSpan
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class ScheduleNeverStepped(Diagnosis):
    """A scheduler lowered the learning rate when it was created and was never stepped."""

    rate: float
    meant: float
    steps: int
    message = (
        "a scheduler set the learning rate to {rate:.3g} at the start (the optimizer was created with "
        "lr={meant:g}) and was never stepped: all {steps} steps ran at that rate"
    )
    advice = "call scheduler.step() after each optimizer.step()"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence("learning rate of all steps", value=self.rate)


class Misstepped(Diagnosis):
    """A scheduler was stepped; `since` is the step from which on its learning rates do harm."""

    schedule: Schedule
    since: int

    @property
    def other_pace(self) -> str:
        """Return how to step the scheduler, or how long to make it."""
        if self.schedule.is_per_batch:
            return "step the scheduler once per epoch, or give it settings that count batches"
        if self.schedule.by_metric:
            return "give it a metric that falls as the model improves (or mode='max'), and more patience"
        return "make the schedule as long as the training"

    def evidence(self) -> Iterator[Evidence]:
        own = self.schedule
        settings = ", ".join(f"{name}={value:g}" for name, value in own.settings.items())
        often = f"{own.calls} times in {own.steps} optimizer steps" if own.calls else "often"
        claim = f"{own.kind}({settings}) was stepped {often}"
        yield Evidence(claim, value=float(own.calls), step=self.since)
        yield Evidence("learning rate of the steps", value=own.last_rate, series=own.rates)


class NegativeRate(Misstepped):
    """The schedule continued below 0, where every step follows the gradient uphill."""

    message = "the learning rate fell below 0 at step {since}: from there on the steps follow the gradient uphill"
    advice = "end the schedule, or the training, when the learning rate reaches 0"


class ZeroRate(Misstepped):
    """The schedule ended at 0 long before the training did."""

    left: int
    message = "the learning rate has been 0 since step {since}, but {left} more steps followed"
    advice = "{other_pace}"


class DeadRate(Misstepped):
    """The schedule cut the learning rate so far that most steps changed nothing."""

    rate: float
    peak: float
    left: int
    message = (
        "{schedule.kind} had cut the learning rate from {peak:.2g} to {rate:.2g} by step {since}: "
        "{left} of {schedule.steps} steps ran with at most 1/1000 of the peak learning rate"
    )
    advice = "{other_pace}"


class DeadRateAtRest(DeadRate):
    """The schedule cut the learning rate when the loss no longer fell."""

    advice = "stop the training there: the loss no longer fell"


class WrongDirection(Misstepped):
    """The scheduler takes an improving number for a plateau, because its mode is the other one."""

    metric: str
    mode: str
    samples: int | None
    classes: int | None
    values: list[float]
    cuts: int
    message = (
        "ReduceLROnPlateau(mode='{mode}') cut the learning rate {cuts} times while `{metric}` {improved} from "
        "{first:.4g} to {last:.4g}: it waits for a number that {awaited}"
    )
    advice = "create it with mode='{other}'"

    @property
    def first(self) -> float:
        """Return the first number that it got."""
        return self.values[0]

    @property
    def last(self) -> float:
        """Return the last number that it got."""
        return self.values[-1]

    @property
    def improved(self) -> str:
        """Return which way the number went."""
        return "rose" if self.mode == "min" else "fell"

    @property
    def awaited(self) -> str:
        """Return which way the scheduler wants the number to go."""
        return "falls" if self.mode == "min" else "rises"

    @property
    def other(self) -> str:
        """Return the mode that fits the number."""
        return "max" if self.mode == "min" else "min"

    def evidence(self) -> Iterator[Evidence]:
        if self.samples is not None:
            yield Evidence(
                f"all {len(self.values)} values of `{self.metric}` are shares of {self.samples} samples; an error rate "
                f"of {self.last:.4g} would be worse than guessing one of {self.classes} classes"
            )
        else:
            yield Evidence(f"`{self.metric}` is the loss of the step before each call")
        series = tuple(self.values)
        yield Evidence(f"`{self.metric}` of the calls", value=self.values[-1], series=series)
        yield from super().evidence()


class SwingingRate(Misstepped):
    """A cosine that should fall once over the epochs completes a half wave every few batches."""

    turns: float
    length: float
    message = (
        "the learning rate went up and down {turns:.0f} times: a cosine with T_max={length:g} "
        "was stepped per batch, {schedule.calls} times"
    )
    advice = "{other_pace}"


class LongWarmUp(Misstepped):
    """The warm-up needs many times the steps that the training has."""

    rate: float
    meant: float
    message = (
        "the warm-up is longer than the training: in {schedule.steps} steps the learning rate rose only to "
        "{rate:.2g}, not to lr={meant:g}; at this pace it needs {whole:.1g} steps"
    )
    advice = "end the warm-up within the first tenth of the training"

    @property
    def whole(self) -> float:
        """Return how many steps the whole warm-up needs."""
        return self.schedule.steps * self.meant / self.rate


class HeldLow(Misstepped):
    """The schedule has risen to its highest learning rate, which is a tiny share of the optimizer's."""

    rate: float
    meant: float
    message = (
        "{schedule.kind} holds the learning rate at {rate:.2g}, {factor:.2g} of lr={meant:g}: "
        "it multiplies lr by {factor:.2g}{likeness}"
    )
    advice = "let the schedule give a factor of lr that rises to 1, not a learning rate"

    @property
    def factor(self) -> float:
        """Return what the schedule multiplies the optimizer's learning rate by."""
        return self.rate / self.meant

    @property
    def likeness(self) -> str:
        """Return that the factor is the learning rate itself, if it is."""
        return (
            ", the learning rate itself" if isclose(self.factor, self.meant, rel_tol=0.01) else ""
        )


class OnlyBegan(Misstepped):
    """A schedule that counts optimizer steps was stepped once per epoch."""

    length: float
    message = (
        "{schedule.kind} was created for {length:g} steps, as many as the training has, but was stepped "
        "only {schedule.calls} times: the training ended when the schedule had just begun"
    )
    advice = "call scheduler.step() after each optimizer.step()"


class SteppedFirst(Misstepped):
    """The scheduler is stepped before the optimizer, so its first learning rate is never used."""

    peak: float
    message = (
        "{schedule.kind} is stepped before the optimizer has made its first step: "
        "its first learning rate, {peak:.3g}, is skipped"
    )
    advice = "call scheduler.step() after optimizer.step()"


class SchedulerMisuse(Detector):
    """The learning-rate schedule is stepped too often, too early, or beyond its end."""

    name = "scheduler-misuse"
    question = SCHEDULE
    settled = (NegativeRate,)  # The others weigh a part of the run against the whole.

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for history in rate_histories(trace):
            if not history.schedulers:
                yield from self._never_stepped(trace, history)
            elif (judged := _judge(trace, history)) is not None:
                severity, diagnosis = judged
                yield self.found(
                    trace,
                    diagnosis,
                    severity=severity,
                    step=diagnosis.since,
                    location=_place(trace, history, diagnosis),
                    symptom_at=history.schedulers[0].location,
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        if isinstance(finding.diagnosis, HeldLow | WrongDirection):
            return  # Neither another pace nor another length changes the factor or the mode.
        if isinstance(finding.diagnosis, OnlyBegan):
            yield from schedules.step_with_optimizer(finding.location, source)
        yield from schedules.move_to_outer_loop(finding.location, source)
        yield from schedules.schedule_as_long_as_training(finding.location, source)
        yield from loops.move_after(finding.location, source, "step")

    def _never_stepped(self, trace: Trace, history: RateHistory) -> Iterator[Finding]:
        """Yield a warm-up that was created and never stepped: the learning rate stays at its low start."""
        if not never_left_warm_up(trace, history):
            return
        made = schedules_made(trace)
        diagnosis = ScheduleNeverStepped(
            rate=history.peak, meant=meant_rate(trace, history) or 0.0, steps=history.count
        )
        yield self.found(
            trace,
            diagnosis,
            severity="error",
            step=history.rates[0][0],
            location=made[0] if len(made) == 1 else place_of(trace, history.optimizer),
        )


def _place(trace: Trace, history: RateHistory, diagnosis: Misstepped) -> SourceSpan | None:
    """Return where the scheduler is stepped; for a wrong setting, where it is created, if that is known."""
    made = schedules_made(trace) if isinstance(diagnosis, WrongDirection) else []
    return made[0] if len(made) == 1 else history.schedulers[0].location


def _judge(trace: Trace, history: RateHistory) -> tuple[Severity, Misstepped] | None:
    """Judge a schedule by its learning rates; the first judgement that fits is furthest back."""
    return (
        _wrong_direction(trace, history)
        or _low_rate(trace, history)
        or _turning_rate(history)
        or _short_training(trace, history)
        or _wrong_order(trace, history)
    )


def _wrong_direction(trace: Trace, history: RateHistory) -> tuple[Severity, Misstepped] | None:
    """Judge a scheduler whose mode does not fit the number that it gets."""
    found = cut_while_improving(trace, history)
    if found is None:
        return None
    return "warning", WrongDirection(
        schedule=schedule_of(history),
        since=found.first_cut,
        metric=found.seen.metric,
        mode=found.seen.mode,
        samples=found.samples,
        classes=found.classes,
        values=found.seen.values,
        cuts=found.cuts,
    )


def _low_rate(trace: Trace, history: RateHistory) -> tuple[Severity, Misstepped] | None:
    """Judge a learning rate that fell too far."""
    schedule = schedule_of(history)
    if (since := history.negative_since) is not None:
        return "error", NegativeRate(schedule=schedule, since=since)
    if (since := history.zero_since) is not None:
        left = history.steps_after(since)
        return "warning", ZeroRate(schedule=schedule, since=since, left=left)
    if (since := history.dead_since) is None:
        return None
    by_metric = schedule.kind == BY_METRIC and not history.is_per_batch
    is_at_rest = by_metric and had_come_to_rest(trace, history)
    dead = DeadRateAtRest if is_at_rest else DeadRate
    return "note" if is_at_rest else "warning", dead(
        schedule=schedule,
        since=since,
        rate=history.rate_at(since),
        peak=history.peak,
        left=history.steps_after(since),
    )


def _turning_rate(history: RateHistory) -> tuple[Severity, Misstepped] | None:
    """Judge a cosine whose T_max counts epochs but that is stepped per batch."""
    if not history.turns:
        return None
    length = history.schedulers[0].settings["T_max"]
    return "warning", SwingingRate(
        schedule=schedule_of(history), since=int(length), turns=history.turns, length=length
    )


def _short_training(trace: Trace, history: RateHistory) -> tuple[Severity, Misstepped] | None:
    """Judge a schedule that had just begun when the training ended."""
    schedule = schedule_of(history)
    if hardly_began(trace, history):
        meant = meant_rate(trace, history) or 0.0
        kind = HeldLow if history.is_level_at_the_end else LongWarmUp
        return "warning", kind(schedule=schedule, since=0, rate=history.peak, meant=meant)
    if history.left_over and history.count >= ENOUGH_STEPS and not ended_early(trace):
        return "warning", OnlyBegan(schedule=schedule, since=0, length=history.left_over)
    return None


def _wrong_order(trace: Trace, history: RateHistory) -> tuple[Severity, Misstepped] | None:
    """Judge a scheduler that is stepped before the optimizer."""
    if not came_first(trace, history.schedulers[0]):
        return None
    return "warning", SteppedFirst(schedule=schedule_of(history), since=0, peak=history.peak)
