from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training import loops, schedules
from torchwhy.detect.views.parameters.trained_parameters import made, program_died, statements_found
from torchwhy.detect.views.training.rates import ENOUGH_STEPS, RateCourse, rate_courses
from torchwhy.detect.views.training.training import is_lower, trainings
from torchwhy.finding import Evidence, Finding, Fix, Severity
from torchwhy.record.events import ScaleChanged
from torchwhy.record.learning import ParameterCensus, StepCalls
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import SchedulerSeen
from torchwhy.source.edits import Source

BY_METRIC = "ReduceLROnPlateau"
HARDLY_BEGAN = (
    0.01  # of the rate it leads to: a warm-up that is there at the end was meant for another run
)
WARMING = 0.1  # of the rate it leads to: what a warm-up begins with is lower
FEW_LOSSES = 3  # of which no middle can be told


class SchedulerMisuse(Detector):
    """The learning-rate schedule is stepped too often, too early, or beyond its end."""

    name = "scheduler-misuse"
    needs = frozenset({"step", "scheduler"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for course in rate_courses(trace):
            if course.schedulers:
                yield from self._judge(trace, course)
            else:
                yield from self._never_stepped(trace, course)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from schedules.step_with_optimizer(finding, source)
        yield from schedules.move_to_outer_loop(finding, source)
        yield from schedules.schedule_as_long_as_training(finding, source)
        yield from loops.move_after(finding, source, "step")

    def _never_stepped(self, trace: Trace, course: RateCourse) -> Iterator[Finding]:
        """Yield a warm-up that was made and never stepped: it set the rate to its low beginning, and there it is."""
        census, meant = _meant(trace, course)
        is_still = len({rate for _, rate in course.rates}) == 1 and not trace.of(SchedulerSeen)
        if census is None or not is_still or program_died(trace):
            return
        if course.count < ENOUGH_STEPS or not 0 <= course.peak < WARMING * meant:
            return
        maker = made(trace, course.optimizer)
        usual = maker.location if maker is not None else None
        schedules = statements_found(trace).schedules
        yield Finding(
            detector=self.name,
            severity="error",
            message=(
                f"a scheduler set the rate to {course.peak:.3g} at the start (the optimizer was made with "
                f"lr={meant:g}), and it was never stepped: all {course.count} steps ran at that rate"
            ),
            step=0,
            rank=trace.rank,
            location=schedules[0] if len(schedules) == 1 else usual,
            evidence=(Evidence("rate of all steps", value=course.peak),),
            fixes=(Fix("call scheduler.step() after each optimizer.step()", safety="show-only"),),
        )

    def _judge(self, trace: Trace, course: RateCourse) -> Iterator[Finding]:
        scheduler = course.schedulers[0]
        hardly_begun = list(self._judge_length(trace, course))
        if course.negative_since is not None:
            yield self._finding(
                trace, course, f"the rate fell below 0 at step {course.negative_since}: from there on training climbs",
                step=course.negative_since, severity="error", advice="end the schedule, or the training, at 0",
            )  # fmt: skip
        elif course.zero_since is not None:
            left = course.steps_after(course.zero_since)
            yield self._finding(
                trace, course, f"the rate is 0 since step {course.zero_since}, but {left} more steps were made",
                step=course.zero_since, severity="warning", advice=_advice(course),
            )  # fmt: skip
        elif course.dead_since is not None:
            left = course.steps_after(course.dead_since)
            rested = (
                scheduler.kind == BY_METRIC
                and not course.is_per_batch
                and _had_come_to_rest(trace, course)
            )
            yield self._finding(
                trace, course, f"{scheduler.kind} had cut the rate to {course.rate_at(course.dead_since):.2g} by step "
                f"{course.dead_since} (it began at {course.peak:.2g}): {left} of {course.count} steps "
                "ran at a dead rate",
                step=course.dead_since, severity="note" if rested else "warning",
                advice="training could have stopped there" if rested else _advice(course),
            )  # fmt: skip
        elif course.turns:
            yield self._finding(
                trace, course, f"the rate went up and down {course.turns:.0f} times: a cosine of T_max="
                f"{scheduler.settings['T_max']:g} is stepped per batch, {course.calls} times",
                step=int(scheduler.settings["T_max"]), severity="warning", advice=_advice(course),
            )  # fmt: skip
        elif hardly_begun:
            yield from hardly_begun
        elif _came_first(trace, scheduler):
            yield self._finding(
                trace, course, f"{scheduler.kind} is stepped before the optimizer has made its first step: "
                f"its first rate, {course.peak:.3g}, is skipped",
                step=0, severity="warning", advice="call scheduler.step() after optimizer.step()",
            )  # fmt: skip

    def _judge_length(self, trace: Trace, course: RateCourse) -> Iterator[Finding]:
        """Yield a schedule that had hardly begun when the training ended."""
        if _hardly_began(trace, course):
            meant, peak = _meant(trace, course)[1], course.peak
            whole = course.count * meant / peak
            yield self._finding(
                trace, course, f"the warm-up is longer than the training: in {course.count} steps the rate rose to "
                f"{peak:.2g}, the optimizer was made with lr={meant:g}; at this pace it would take {whole:.1g} steps",
                step=0, severity="warning", advice="let the warm-up end within the first tenth of the training",
            )  # fmt: skip
        elif course.left_over and course.count >= ENOUGH_STEPS and not program_died(trace):
            kind = course.schedulers[0].kind
            yield self._finding(
                trace, course, f"{kind} was made for {course.left_over:g} steps, as many as the training has, and "
                f"was stepped {course.calls} times: it only began",
                step=0, severity="warning", advice="call scheduler.step() after each optimizer.step()",
            )  # fmt: skip

    def _finding(
        self,
        trace: Trace,
        course: RateCourse,
        message: str,
        *,
        step: int,
        severity: Severity,
        advice: str,
    ) -> Finding:
        scheduler = course.schedulers[0]
        settings = ", ".join(f"{name}={value:g}" for name, value in scheduler.settings.items())
        often = (
            f"{course.calls} times in {course.count} optimizer steps" if course.calls else "often"
        )
        return Finding(
            detector=self.name,
            severity=severity,
            message=message,
            step=step,
            rank=trace.rank,
            location=scheduler.location,
            evidence=(
                Evidence(
                    f"{scheduler.kind}({settings}) was stepped {often}",
                    value=float(course.calls),
                    step=step,
                ),
                Evidence("rate of the steps", value=course.rates[-1][1], series=course.thinned()),
            ),
            fixes=(Fix(advice, safety="show-only"),),
        )


def _advice(course: RateCourse) -> str:
    if course.is_per_batch:
        return "step the scheduler once per epoch, or give it numbers that count batches"
    if any(scheduler.kind == "ReduceLROnPlateau" for scheduler in course.schedulers):
        return "give it a number that falls as the model gets better (or mode='max'), and more patience"
    return "give the schedule as many steps as the training has"


def _meant(trace: Trace, course: RateCourse) -> tuple[ParameterCensus | None, float]:
    """Return the highest rate that the optimizer was made with, before any scheduler changed it."""
    census = next(
        (one for one in trace.of(ParameterCensus) if one.optimizer == course.optimizer), None
    )
    return census, max(census.initial_rates, default=0.0) if census is not None else 0.0


def _hardly_began(trace: Trace, course: RateCourse) -> bool:
    """Tell whether a rate that only rose was still next to nothing at the end, and so nothing was learnt."""
    peak, meant = course.peak, _meant(trace, course)[1]
    rose = course.first_cut is None and course.rates[-1][1] > course.rates[0][1]
    if course.count < ENOUGH_STEPS or not rose or program_died(trace):
        return False
    if not 0 < peak < HARDLY_BEGAN * meant:
        return False
    own = (one for one in trainings(trace) if one.made.index == course.optimizer)
    return any(training.never_learnt for training in own)


def _had_come_to_rest(trace: Trace, course: RateCourse) -> bool:
    """Tell whether the loss no longer fell when the rate was cut for the first time: then the cut was right."""
    cut = course.first_cut
    training = next((one for one in trainings(trace) if one.made.index == course.optimizer), None)
    if cut is None or training is None:
        return False
    before = [loss for step, loss in training.losses if step < cut]
    third = len(before) // 3
    return third >= FEW_LOSSES and not is_lower(before[-third:], than=before[-2 * third : -third])


def _came_first(trace: Trace, scheduler: SchedulerSeen) -> bool:
    """Tell whether the schedule was stepped once before the first step; a resumed run does so several times."""
    if scheduler.kind == BY_METRIC or scheduler.optimizer < 0 or scheduler.optimizer_steps:
        return False
    if trace.of(ScaleChanged):
        return False  # a GradScaler may have skipped the step, and the order is right
    calls = next(iter(trace.of(StepCalls)), None)
    before = [call for call in calls.calls if call.name == "scheduler"] if calls is not None else []
    return len(before) == 1
