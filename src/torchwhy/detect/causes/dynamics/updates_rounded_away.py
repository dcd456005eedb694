from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.state.updates_arrive import QUESTION
from torchwhy.detect.views.parameters.trained_parameters import place_of
from torchwhy.detect.views.training.training import ADAPTIVE, Training, is_lower, trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, SourceSpan
from torchwhy.record.kept.kept_state import UpdatesCompared
from torchwhy.record.learning import ParameterCensus
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

NARROW = ("bfloat16", "float16")
MOST = 0.9  # Share of the weights; at usual rates, large ones of a bfloat16 layer stay for a step and small ones move.
HALF = 0.5  # Rounding to nearest drops an update below half the distance to the next number.
NEAR_PEAK = (
    0.5  # A window in a warm-up, with a rate below this share of the highest one, says nothing.
)


class UpdatesRounded(Diagnosis):
    """The updates are smaller than half the distance between two numbers of the parameters' dtype."""

    dtype: str
    elements: int
    same: int
    updates: int
    update: float
    spacing: float
    weight: float
    rate: float
    message = (
        "{dtype} rounds the updates away: {same} of {elements} sampled weights with a gradient are the same, "
        "bit for bit, after {updates} steps"
    )

    @property
    def remedies(self) -> tuple[str, ...]:
        """Return how to let updates add up, or arrive."""
        return (
            f"keep the parameters in float32 and compute in {self.dtype} under `torch.autocast`",
            f"use a learning rate above {self.needed:.1g}, whose updates exceed half the distance",
        )

    @property
    def needed(self) -> float:
        """Return the learning rate with which the median update is as large as half the distance."""
        return self.rate * HALF * self.spacing / self.update if self.update else self.rate

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"an update is about {self.update:.2g}; around {self.weight:.2g}, {self.dtype} numbers lie "
            f"{self.spacing:.2g} apart, and less than half of that changes nothing",
            value=self.update / self.spacing,
        )
        yield Evidence(f"the learning rate is {self.rate:g}", value=self.rate)


class UpdatesRoundedAway(Detector):
    """The updates are too small for the parameters' dtype, so most weights never change."""

    name = "updates-rounded-away"
    question = QUESTION

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for training in trainings(trace):
            seen = [
                one
                for one in trace.of(UpdatesCompared)
                if one.optimizer == training.made.index and one.dtype in NARROW
            ]
            diagnoses = [_judge(training, one) for one in seen]
            if not diagnoses or None in diagnoses:
                continue
            last = diagnoses[-1]
            assert last is not None, "none of them is None"
            falls = is_lower(training.tail, than=training.head) if training.losses else False
            yield self.found(
                trace,
                last,
                severity="note" if falls else "warning",
                step=seen[0].step - seen[0].updates,
                location=_cast_at(trace, seen[0]) or place_of(trace, training.made.index),
            )


def _judge(training: Training, seen: UpdatesCompared) -> UpdatesRounded | None:
    """Return the diagnosis if nearly all weights stay and rounding explains it."""
    rate, spacing = decode(seen.rate), decode(seen.spacing)
    slope = 1.0 if training.made.kind in ADAPTIVE else decode(seen.gradient)
    update = rate * slope
    if seen.kept_wider or seen.same < MOST * seen.elements or update >= HALF * spacing:
        return None
    if rate < NEAR_PEAK * (training.rate or 0.0):
        return None
    return UpdatesRounded(
        dtype=seen.dtype,
        elements=seen.elements,
        same=seen.same,
        updates=seen.updates,
        update=update,
        spacing=spacing,
        weight=decode(seen.weight),
        rate=rate,
    )


def _cast_at(trace: Trace, seen: UpdatesCompared) -> SourceSpan | None:
    """Return the line that gave the parameters their dtype: the last one that wrote them before training."""
    return next(
        (
            one.made_at
            for census in trace.of(ParameterCensus)
            if census.optimizer == seen.optimizer
            for one in census.parameters
            if one.name in seen.names and one.made_at is not None
        ),
        None,
    )
