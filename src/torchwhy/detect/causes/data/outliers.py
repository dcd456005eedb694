from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.data.rows_weigh_alike import (
    QUESTION,
    SLUG,
    facts_of,
    outweighs,
    ratio_of,
)
from torchwhy.detect.checks.recorded_facts import answered
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace


class RowOutweighsBatch(Diagnosis):
    """One row with a value far from all others makes up nearly the whole gradient of its batch."""

    role: str
    value: float
    median: float
    distance: float
    usual: float
    rows: int
    ratio: float
    message = (
        "one of the {rows} rows of a batch holds {value:.6g} in the {values}, where {median:.3g} is usual: it makes "
        "the gradient of its batch {ratio:.3g} times longer"
    )
    advice = (
        "look at the row: correct or drop it, or, if such values are real, clip or transform them (logarithm) or take "
        "a loss that grows less than their square"
    )

    @property
    def values(self) -> str:
        """Return what the value belongs to."""
        return "inputs" if self.role == "input" else "targets"

    @property
    def times(self) -> float:
        """Return how many times as far away as usual the value lies."""
        return self.distance / max(self.usual, 1e-12)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"the value lies {self.times:.3g} times as far from the median as those of 99 % of the captured rows",
            value=self.distance,
        )
        yield Evidence(
            "leaving out any other row of the batch changes the gradient by less than half",
            value=self.ratio,
        )


class Outliers(Detector):
    """A single row with an extreme value makes up nearly the whole gradient of its batch."""

    name = "outliers"
    question = QUESTION
    only_in_check = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        facts = facts_of(trace)
        if not outweighs(facts):
            return
        places = next((one.places for one in answered(trace, SLUG)), {})
        diagnosis = RowOutweighsBatch(
            role=str(facts["role"]),
            value=decode(facts["value"]),
            median=decode(facts["median"]),
            distance=decode(facts["distance"]),
            usual=decode(facts["usual"]),
            rows=int(facts["rows"]),
            ratio=ratio_of(facts),
        )
        yield self.found(
            trace,
            diagnosis,
            severity="warning",
            step=None,
            location=places.get("slot") or places.get("loss"),
            certainty="replayed",
        )
