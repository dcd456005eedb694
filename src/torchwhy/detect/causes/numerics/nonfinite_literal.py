from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import bad_values
from torchwhy.detect.views.nonfinite.birth_facts import finding_from
from torchwhy.detect.views.nonfinite.origins import (
    Spoiled,
    expression_of,
    feeds_new_nan,
    sources,
    where_it_went,
    word,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.numbers import Real
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class BadConstant(Diagnosis):
    """A constant that is not finite stands in the source, and was computed with."""

    expression: str
    value: Real
    went_into: Spoiled
    step: int
    message = "{expression} holds {what} as a constant of the program, and it went into {went_into}"
    advice = "replace the {what} of {expression} by a finite value, or mask it out before it is computed with"

    @property
    def what(self) -> str:
        return word(self.value)

    def evidence(self) -> Iterator[Evidence]:
        claim = f"{self.what} is no result here: it stands in the source"
        yield Evidence(claim, value=self.value, step=self.step)


class BadLearningRate(BadConstant):
    """An update ran with a learning rate that is not finite; `rate_before` is the last one that was."""

    rate_before: float | None
    message = (
        "the learning rate was no finite number in {expression}, and {what} went into {went_into}"
    )
    advice = (
        "look at what sets the learning rate: a scheduler of your own, or a division by its length"
    )

    def evidence(self) -> Iterator[Evidence]:
        claim = "it was never a finite number before"
        if self.rate_before is not None:
            claim = f"up to step {self.step - 1} it was {self.rate_before:g}"
        yield Evidence(claim, value=self.value, step=self.step)


class NonfiniteLiteral(Detector):
    """A NaN or infinity that is written in the program itself reached the loss or the weights."""

    name = "nonfinite-literal"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in sources(trace, "literal"):
            if feeds_new_nan(trace, birth) or _is_torchs_own(trace, birth):
                continue
            diagnosis = BadConstant(
                expression=expression_of(birth, "an expression on this line"),
                value=birth.value,
                went_into=where_it_went(birth),
                step=birth.step,
            )
            if birth.phase == "update" and _rate_is_odd(trace, birth):
                rate = _rate_before(trace, birth)
                diagnosis = BadLearningRate(**vars(diagnosis), rate_before=rate)
            yield finding_from(trace, birth, detector=self.name, diagnosis=diagnosis)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from bad_values.finite_literal(finding.location, source)


def _is_torchs_own(trace: Trace, birth: Birth) -> bool:
    """Tell whether a torch function that failed put the constant in by itself, as `logdet` does for its NaN."""
    return birth.location is not None and any(
        other.kind == "operation"
        and other.step == birth.step
        and other.location == birth.location
        and other.order < birth.order
        for other in trace.births
    )


def _rate_is_odd(trace: Trace, birth: Birth) -> bool:
    """Tell whether the last learning rate told before an update was infinite or NaN."""
    told = [step.learning_rates for step in trace.steps if step.step <= birth.step]
    last = next((rates for rates in reversed(told) if rates), None)
    return last is not None and None in last


def _rate_before(trace: Trace, birth: Birth) -> float | None:
    rates = [rate for step in trace.steps if step.step < birth.step for rate in step.rates]
    return rates[-1] if rates else None
