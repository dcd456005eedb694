from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import bad_values
from torchwhy.detect.views.nonfinite.birth_facts import finding_from
from torchwhy.detect.views.nonfinite.origins import (
    Spoiled,
    expression_of,
    feeds_new_nan,
    is_of_negative_determinant,
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
    """The program used a constant that is written as NaN or infinity in its source."""

    expression: str
    value: Real
    went_into: Spoiled
    step: int
    message = "{expression} contains the constant {what}, which reached {went_into}"
    advice = (
        "replace the {what} in {expression} with a finite value, or mask it out before it is used"
    )

    @property
    def what(self) -> str:
        return word(self.value)

    def evidence(self) -> Iterator[Evidence]:
        claim = f"{self.what} was not computed: it is written in the source"
        yield Evidence(claim, value=self.value, step=self.step)


class BadLearningRate(BadConstant):
    """An update ran with a learning rate that is not finite; `rate_before` is the last finite one."""

    rate_before: float | None
    message = (
        "the learning rate was not a finite number in {expression}, and {what} reached {went_into}"
    )
    advice = "check what sets the learning rate: a custom scheduler, or a division by its length"

    def evidence(self) -> Iterator[Evidence]:
        claim = "it was never finite before"
        if self.rate_before is not None:
            claim = f"up to step {self.step - 1} it was {self.rate_before:g}"
        yield Evidence(claim, value=self.value, step=self.step)


class NonfiniteLiteral(Detector):
    """A NaN or infinity written in the program itself reached the loss or the weights."""

    name = "nonfinite-literal"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in sources(trace, "literal"):
            if feeds_new_nan(trace, birth) or _is_torchs_own(trace, birth):
                continue
            is_rate = birth.phase == "update" and _rate_is_nonfinite(trace, birth)
            if birth.phase == "update" and not is_rate:
                continue  # a number that the optimizer computed from its gradients
            diagnosis = BadConstant(
                expression=expression_of(birth, "an expression on this line"),
                value=birth.value,
                went_into=where_it_went(birth),
                step=birth.step,
            )
            if is_rate:
                rate = _rate_before(trace, birth)
                diagnosis = BadLearningRate(**vars(diagnosis), rate_before=rate)
            yield finding_from(trace, birth, detector=self.name, diagnosis=diagnosis)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from bad_values.finite_literal(finding.location, source)


def _is_torchs_own(trace: Trace, birth: Birth) -> bool:
    """Tell whether a failing torch function inserted the constant itself, as `logdet` does with its NaN."""
    if is_of_negative_determinant(birth):
        return True
    return birth.location is not None and any(
        other.kind == "operation"
        and other.step == birth.step
        and other.location == birth.location
        and other.order < birth.order
        for other in trace.births
    )


def _rate_is_nonfinite(trace: Trace, birth: Birth) -> bool:
    """Tell whether the last learning rate recorded before an update was infinite or NaN."""
    recorded = [step.learning_rates for step in trace.steps if step.step <= birth.step]
    last = next((rates for rates in reversed(recorded) if rates), None)
    return last is not None and None in last


def _rate_before(trace: Trace, birth: Birth) -> float | None:
    rates = [rate for step in trace.steps if step.step < birth.step for rate in step.rates]
    return rates[-1] if rates else None
