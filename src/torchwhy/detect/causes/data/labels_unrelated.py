from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.learning.labels_matter import QUESTION, SLUG, unrelated
from torchwhy.detect.checks.recorded_facts import answered
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.trace import Trace


class NothingToLearn(Diagnosis):
    """Labels of other samples train as well as those of the program."""

    true: float
    exchanged: list[float]
    held_out: int
    planted: float
    planted_exchanged: float
    message = "the labels have nothing to do with the inputs that the model gets: labels of other samples train as well"
    advice = (
        "give inputs and labels the same order: shuffle both with one permutation, draw them from one data set, "
        "and compare some pairs by eye"
    )

    def evidence(self) -> Iterator[Evidence]:
        worst, best = max(self.exchanged), min(self.exchanged)
        yield Evidence(
            f"loss of {self.held_out} held-out batches after training a copy: {self.true:.4g} with the labels as they "
            f"are, {best:.4g} to {worst:.4g} with labels exchanged between samples",
            value=self.true,
        )
        yield Evidence(
            "the same batches suffice to learn from: with labels made from the inputs the loss falls from "
            f"{self.planted_exchanged:.4g} to {self.planted:.4g}",
            value=self.planted,
        )


class LabelsUnrelatedToInputs(Detector):
    """The labels of a batch do not belong to its inputs."""

    name = "labels-unrelated"
    question = QUESTION
    only_in_check = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        seen = unrelated(trace)
        if seen is None:
            return
        places = next((one.places for one in answered(trace, SLUG)), {})
        diagnosis = NothingToLearn(
            true=seen.true,
            exchanged=seen.exchanged,
            held_out=seen.held_out,
            planted=seen.planted,
            planted_exchanged=seen.planted_exchanged,
        )
        yield self.found(
            trace,
            diagnosis,
            severity="warning",
            step=None,
            location=places.get("target") or places.get("loss"),
            certainty="replayed",
        )
