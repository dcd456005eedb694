from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import FALLS
from torchwhy.detect.fixes.training import optimizers
from torchwhy.detect.views.nonfinite.birth_facts import show
from torchwhy.detect.views.training.network_facts import Measured, curvatures
from torchwhy.detect.views.training.overshoot import loss_curve
from torchwhy.detect.views.training.source_statements import schedules_made
from torchwhy.detect.views.training.sweeps import judged_among
from torchwhy.detect.views.training.training import ADAPTIVE, Training, trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import ScaleChanged
from torchwhy.record.learning import CallSeen, StepCalls
from torchwhy.record.trace import Trace
from torchwhy.record.wiring import CallsCounted, SchedulerSeen
from torchwhy.source.edits import Source

FEWEST_STEPS = 10
HARDLY = 1e-3  # No layer learns if its weights move by less than this share of their size in the whole run.
FAR_BELOW = (
    1e-3  # Learning rate over the stable one; sensible learning rates lie between 0.01 and 1.
)
FAR_BELOW_A_PART = (
    1e-4  # The same along a part of the weights, which is less curved than the whole.
)
SHORTENED = (
    0.01  # A clip that guards against explosions shortens single steps, not all of them this much.
)
WORTH_IT = 1e-4  # Share of the loss that one step at the stable rate takes off; at a minimum it is below 1e-8.


class RateTooLow(Diagnosis):
    """The weights hardly moved at a learning rate far below the stable one, though the loss has a slope."""

    rate: float
    optimizer: str
    steps: int
    moved: float
    loss: float
    stable_rate: float
    ratio: float
    partial: bool
    possible: float
    is_adaptive: bool
    measured_at: int
    message = (
        "lr={shown} is too low for {optimizer} here: in {steps} steps the weights moved by "
        "{moved:.1g} of their size, and the loss stayed at {loss:.4g}"
    )
    advice = "raise lr={shown}, for instance to {sensible}"

    @property
    def shown(self) -> str:
        """Return the learning rate with a few digits."""
        return show(self.rate)

    @property
    def sensible(self) -> str:
        """Return a learning rate to start with."""
        return "1e-3" if self.is_adaptive else f"{self.stable_rate / 10:.1g}"

    def evidence(self) -> Iterator[Evidence]:
        where = "for the last layers" if self.partial else "here"
        yield Evidence(
            f"learning rates up to {self.stable_rate:.2g} are stable {where}; lr={self.shown} is "
            f"{self.ratio:.1g} of that",
            value=self.ratio,
            step=self.measured_at,
        )
        yield Evidence(
            f"one step at the best stable learning rate would lower the loss by about {self.possible:.2g} of itself",
            value=self.possible,
            step=self.measured_at,
        )


class RateIsZero(Diagnosis):
    """The learning rate is 0 at every step, from the start or because a scheduler sets it so."""

    optimizer: str
    steps: int
    made_with: float
    message = (
        "the learning rate of {optimizer} is 0 in all {steps} steps: no update changes a weight"
    )

    @property
    def remedies(self) -> tuple[str, ...]:
        """Return the advice: a learning rate, or a schedule that starts above 0."""
        if self.made_with:
            return (
                f"let the schedule start above 0: the optimizer was made with lr={self.made_with:g}",
            )
        usual = "1e-3" if self.optimizer in ADAPTIVE else "0.01 to 0.1"
        return (f"set lr, for instance to {usual}",)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"lr=0 at each of {self.steps} steps", value=0.0)


class ClippedToNothing(Diagnosis):
    """Gradient clipping leaves so little of the gradient that the weights hardly move."""

    clip: str
    left: float
    rate: float
    stable_rate: float
    steps: int
    moved: float
    loss: float
    measured_at: int
    message = (
        "{clip} leaves {left:.1g} of the gradient: in {steps} steps the "
        "weights moved by {moved:.1g} of their size, and the loss stayed at {loss:.4g}"
    )
    advice = "clip to a norm near 1, or not at all"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"lr={show(self.rate)} itself is no lower than usual: with the whole gradient, learning rates up to "
            f"{self.stable_rate:.2g} are stable",
            value=self.left,
            step=self.measured_at,
        )


class LearningRateTooLow(Detector):
    """The learning rate is so low that the weights hardly move in the whole run, though the loss has a slope."""

    name = "learning-rate-too-low"
    question = FALLS

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if trace.alarms:
            return
        for training in trainings(trace):
            if _is_zero(training):
                yield judged_among(self._zero(trace, training), training, trace)
            if training.cut:  # The steps after the rehearsal would move the weights further.
                continue
            if not training.never_learnt or not training.rate or training.moved() > HARDLY:
                continue
            if training.rates[-1][1] > training.rates[0][1]:
                continue
            measured = next(iter(curvatures(trace, training, in_part=True)), None)
            if measured is None or not measured.possible > WORTH_IT:
                continue
            if measured.ratio < (FAR_BELOW_A_PART if measured.partial else FAR_BELOW):
                clip = _shortened_by(trace, measured)
                found = (
                    self._finding(trace, training, measured)
                    if clip is None
                    else self._clipped(trace, training, measured, clip=clip)
                )
                yield judged_among(found, training, trace)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        clips = tuple(optimizers.looser_clip(finding.location, source))
        yield from clips or optimizers.raise_rate(finding.location, source)

    def _zero(self, trace: Trace, training: Training) -> Finding:
        default = training.made.defaults.get("lr")
        made_with = float(default) if isinstance(default, (int, float)) else 0.0
        scheduler = next(
            (one for one in trace.of(SchedulerSeen) if one.optimizer == training.made.index), None
        )
        place = training.made.location
        if made_with and scheduler is not None:
            made = schedules_made(trace)
            place = made[0] if len(made) == 1 else scheduler.location
        diagnosis = RateIsZero(
            optimizer=training.made.kind, steps=len(training.losses), made_with=made_with
        )
        return self.found(
            trace,
            diagnosis,
            # The first period of a warm-up may start at 0.
            severity="error"
            if scheduler is None or _times_stepped(trace, scheduler) > 2
            else "note",
            step=training.first_step,
            location=place,
        )

    def _clipped(
        self, trace: Trace, training: Training, measured: Measured, *, clip: CallSeen
    ) -> Finding:
        diagnosis = ClippedToNothing(
            clip=str(clip.target),
            left=measured.arrived,
            rate=training.rate or 0.0,
            stable_rate=measured.stable_rate * measured.arrived,
            steps=len(training.losses),
            moved=training.moved(),
            loss=training.values[-1],
            measured_at=measured.step,
        )
        return self.found(
            trace,
            diagnosis,
            severity="error",
            step=training.first_step,
            location=clip.location,
            evidence=[loss_curve(training)],
        )

    def _finding(self, trace: Trace, training: Training, measured: Measured) -> Finding:
        rate = training.rate or 0.0
        diagnosis = RateTooLow(
            rate=rate,
            optimizer=training.made.kind,
            steps=len(training.losses),
            moved=training.moved(),
            loss=training.values[-1],
            stable_rate=measured.stable_rate,
            # The experiment measures the first parameter group, whose learning rate may be 0.
            ratio=measured.ratio or rate / measured.stable_rate,
            partial=measured.partial,
            possible=measured.possible,
            is_adaptive=training.made.kind in ADAPTIVE,
            measured_at=measured.step,
        )
        return self.found(
            trace,
            diagnosis,
            severity="error",
            step=training.first_step,
            location=training.made.location,
            evidence=[loss_curve(training)],
        )


def _is_zero(training: Training) -> bool:
    """Tell whether the learning rate of every group is 0 at every step, in a run that is no mere trial."""
    rates = [rate for _, rate in training.rates]
    return bool(rates) and not any(rates) and len(training.losses) >= FEWEST_STEPS


def _times_stepped(trace: Trace, scheduler: SchedulerSeen) -> int:
    """Return how often the program stepped a scheduler."""
    counts = [event.schedulers.get(scheduler.index, 0) for event in trace.of(CallsCounted)]
    return max(counts, default=0)


def _shortened_by(trace: Trace, measured: Measured) -> CallSeen | None:
    """Return the clip that made the steps short, if the learning rate suits the unclipped gradient.

    Under GradScaler the answer is None: there, unscaling shortens the gradient, too.
    """
    if measured.arrived > SHORTENED or measured.ratio < FAR_BELOW * measured.arrived:
        return None
    if any(True for _ in trace.of(ScaleChanged)):
        return None
    calls = (call for event in trace.of(StepCalls) for call in event.calls)
    return next((call for call in calls if call.name == "clip"), None)
