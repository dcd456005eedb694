from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training import loops, schedules
from torchwhy.detect.views.parameters.trained_parameters import (
    place_of,
    program_died,
)
from torchwhy.detect.views.training.rates import ENOUGH_STEPS, RateHistory, rate_histories
from torchwhy.detect.views.training.schedule_facts import (
    BY_METRIC,
    Schedule,
    came_first,
    had_come_to_rest,
    hardly_began,
    meant_rate,
    never_left_warm_up,
    schedule_of,
)
from torchwhy.detect.views.training.source_statements import schedules_made
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, Severity
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class ScheduleNeverStepped(Diagnosis):
    """A scheduler lowered the rate when it was made and was never stepped."""

    rate: float
    meant: float
    steps: int
    message = (
        "a scheduler set the rate to {rate:.3g} at the start (the optimizer was made with lr={meant:g}), "
        "and it was never stepped: all {steps} steps ran at that rate"
    )
    advice = "call scheduler.step() after each optimizer.step()"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence("rate of all steps", value=self.rate)


class Misstepped(Diagnosis):
    """A scheduler that was stepped; `since` is the step from which on its rates do harm."""

    schedule: Schedule
    since: int

    @property
    def other_pace(self) -> str:
        """Return how to step the scheduler, or how long to make it."""
        if self.schedule.is_per_batch:
            return "step the scheduler once per epoch, or give it numbers that count batches"
        if self.schedule.by_metric:
            return "give it a number that falls as the model gets better (or mode='max'), and more patience"
        return "give the schedule as many steps as the training has"

    def evidence(self) -> Iterator[Evidence]:
        own = self.schedule
        settings = ", ".join(f"{name}={value:g}" for name, value in own.settings.items())
        often = f"{own.calls} times in {own.steps} optimizer steps" if own.calls else "often"
        claim = f"{own.kind}({settings}) was stepped {often}"
        yield Evidence(claim, value=float(own.calls), step=self.since)
        yield Evidence("rate of the steps", value=own.last_rate, series=own.rates)


class NegativeRate(Misstepped):
    """The schedule went on below 0, where every step climbs."""

    message = "the rate fell below 0 at step {since}: from there on training climbs"
    advice = "end the schedule, or the training, at 0"


class ZeroRate(Misstepped):
    """The schedule ended at 0 long before the training did."""

    left: int
    message = "the rate is 0 since step {since}, but {left} more steps were made"
    advice = "{other_pace}"


class DeadRate(Misstepped):
    """The schedule cut the rate so far that most steps changed nothing."""

    rate: float
    peak: float
    left: int
    message = (
        "{schedule.kind} had cut the rate to {rate:.2g} by step {since} (it began at {peak:.2g}): "
        "{left} of {schedule.steps} steps ran at a dead rate"
    )
    advice = "{other_pace}"


class DeadRateAtRest(DeadRate):
    """The schedule cut the rate when the loss no longer fell."""

    advice = "training could have stopped there"


class SwingingRate(Misstepped):
    """A cosine that should fall once over the epochs goes through a half wave every few batches."""

    turns: float
    length: float
    message = (
        "the rate went up and down {turns:.0f} times: a cosine of T_max={length:g} "
        "is stepped per batch, {schedule.calls} times"
    )
    advice = "{other_pace}"


class LongWarmUp(Misstepped):
    """The warm-up takes many times as many steps as the training has."""

    rate: float
    meant: float
    message = (
        "the warm-up is longer than the training: in {schedule.steps} steps the rate rose to {rate:.2g}, "
        "the optimizer was made with lr={meant:g}; at this pace it would take {whole:.1g} steps"
    )
    advice = "let the warm-up end within the first tenth of the training"

    @property
    def whole(self) -> float:
        """Return how many steps the whole warm-up takes."""
        return self.schedule.steps * self.meant / self.rate


class OnlyBegan(Misstepped):
    """A schedule that counts the steps of the training was stepped once per epoch."""

    length: float
    message = (
        "{schedule.kind} was made for {length:g} steps, as many as the training has, and was stepped "
        "{schedule.calls} times: it only began"
    )
    advice = "call scheduler.step() after each optimizer.step()"


class SteppedFirst(Misstepped):
    """The scheduler is stepped before the optimizer, so its first rate is never used."""

    peak: float
    message = (
        "{schedule.kind} is stepped before the optimizer has made its first step: "
        "its first rate, {peak:.3g}, is skipped"
    )
    advice = "call scheduler.step() after optimizer.step()"


class SchedulerMisuse(Detector):
    """The learning-rate schedule is stepped too often, too early, or beyond its end."""

    name = "scheduler-misuse"

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
                    location=history.schedulers[0].location,
                )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        if isinstance(finding.diagnosis, OnlyBegan):
            yield from schedules.step_with_optimizer(finding.location, source)
        yield from schedules.move_to_outer_loop(finding.location, source)
        yield from schedules.schedule_as_long_as_training(finding.location, source)
        yield from loops.move_after(finding.location, source, "step")

    def _never_stepped(self, trace: Trace, history: RateHistory) -> Iterator[Finding]:
        """Yield a warm-up that was made and never stepped: it set the rate to its low beginning, and there it is."""
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
            step=0,
            location=made[0] if len(made) == 1 else place_of(trace, history.optimizer),
        )


def _judge(trace: Trace, history: RateHistory) -> tuple[Severity, Misstepped] | None:
    """Judge a schedule by the rates it gave; the first that fits is furthest back."""
    return (
        _low_rate(trace, history)
        or _turning_rate(history)
        or _short_training(trace, history)
        or _wrong_order(trace, history)
    )


def _low_rate(trace: Trace, history: RateHistory) -> tuple[Severity, Misstepped] | None:
    """Judge a rate that fell too far."""
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
    """Judge a cosine that is stepped per batch and counts epochs."""
    if not history.turns:
        return None
    length = history.schedulers[0].settings["T_max"]
    return "warning", SwingingRate(
        schedule=schedule_of(history), since=int(length), turns=history.turns, length=length
    )


def _short_training(trace: Trace, history: RateHistory) -> tuple[Severity, Misstepped] | None:
    """Judge a schedule that had hardly begun when the training ended."""
    schedule = schedule_of(history)
    if hardly_began(trace, history):
        meant = meant_rate(trace, history) or 0.0
        return "warning", LongWarmUp(schedule=schedule, since=0, rate=history.peak, meant=meant)
    if history.left_over and history.count >= ENOUGH_STEPS and not program_died(trace):
        return "warning", OnlyBegan(schedule=schedule, since=0, length=history.left_over)
    return None


def _wrong_order(trace: Trace, history: RateHistory) -> tuple[Severity, Misstepped] | None:
    """Judge a scheduler that is stepped before the optimizer."""
    if not came_first(trace, history.schedulers[0]):
        return None
    return "warning", SteppedFirst(schedule=schedule_of(history), since=0, peak=history.peak)
