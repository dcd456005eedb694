from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.data.value_range import (
    HALF,
    NOWHERE,
    QUESTION,
    SLUG,
    facts_of,
    learned_nothing,
    reached,
)
from torchwhy.detect.checks.recorded_facts import answered
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace


class BytesIntoLayer(Diagnosis):
    """Values of 0 to 255 go into the first layer, and divided by 255 they train far better."""

    raw: list[float]
    scaled: list[float]
    guess: float
    message = (
        "inputs of 0 to 255 go into the first layer as they are: a copy of the model reaches a loss of {best:.4g} with "
        "them, and {worst:.4g} with inputs divided by 255"
    )
    advice = "divide the inputs by 255 before the model, in training and in evaluation"

    @property
    def best(self) -> float:
        """Return the lowest loss with the inputs as they are."""
        return min(self.raw)

    @property
    def worst(self) -> float:
        """Return the highest loss with divided inputs."""
        return max(self.scaled)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "both copies began with the same weights and learned the same batches with the program's own optimizer; "
            "the losses are those of batches that were held out",
            value=self.best,
        )
        yield Evidence(
            f"before any training, divided inputs give a loss of {self.guess:.4g}", value=self.guess
        )


class WrongValueRange(Detector):
    """Pictures of 0 to 255 go into a model that learns far better from 0 to 1."""

    name = "wrong-value-range"
    question = QUESTION
    only_in_check = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        facts = facts_of(trace)
        share = reached(facts)
        if share is None or share >= HALF:
            return
        places = next((one.places for one in answered(trace, SLUG)), {})
        diagnosis = BytesIntoLayer(
            raw=list(facts["raw"]),
            scaled=list(facts["scaled"]),
            guess=decode(facts["scaled before"]),
        )
        yield self.found(
            trace,
            diagnosis,
            severity="warning" if share < NOWHERE and learned_nothing(facts) else "note",
            step=None,
            location=places.get("input") or places.get("loss"),
            certainty="replayed",
        )
