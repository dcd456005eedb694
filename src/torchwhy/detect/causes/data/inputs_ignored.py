from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.learning.inputs_matter import QUESTION, SLUG, ignored, lost
from torchwhy.detect.checks.recorded_facts import answered
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.trace import Trace


class InputsWithoutEffect(Diagnosis):
    """Other inputs leave the loss as it is, before and after training."""

    own: float
    batches: int
    message = "the loss does not depend on the inputs: those of other batches leave it as it is"
    advice = "look for what makes the output constant between the inputs and the loss"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"the loss of a batch is {self.own:.6g} with its own inputs and with those of {self.batches} other "
            "batches, also after training a copy on it",
            value=self.own,
        )


class InputsTurnedIntoOneValue(Diagnosis):
    """A conversion to whole numbers has turned all inputs into one value."""

    value: float
    steps: int
    message = "this conversion to whole numbers turns all inputs into {value:g}, so there is nothing to learn from"
    advice = (
        "leave the inputs real numbers (`.float()`), or scale them before they become whole numbers"
    )

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"in {self.steps} captured steps every number that goes into the model is {self.value:g}",
            value=self.value,
        )


class InputsIgnoredByTheModel(Detector):
    """The loss does not depend on what goes into the model."""

    name = "inputs-ignored"
    question = QUESTION
    only_in_check = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        seen, gone = ignored(trace), lost(trace)
        places = next((one.places for one in answered(trace, SLUG)), {})
        if gone is not None:
            yield self.found(
                trace,
                InputsTurnedIntoOneValue(value=gone.value, steps=gone.steps),
                severity="warning",
                step=None,
                location=places.get("lost"),
                certainty="replayed",
            )
        if seen is None:
            return
        yield self.found(
            trace,
            InputsWithoutEffect(own=seen.own, batches=seen.count),
            severity="warning",
            step=None,
            location=places.get("input") or places.get("loss"),
            certainty="replayed",
        )
