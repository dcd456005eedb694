from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.learning.labels_matter import QUESTION, SLUG, unrelated
from torchwhy.detect.checks.recorded_facts import answered
from torchwhy.detect.views.rehearsed.shuffled_rows import ordered_alone
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.trace import Trace


class OrderedAlone(Diagnosis):
    """Rows were put in an order that no other array was put in, and the labels do not fit the inputs."""

    rows: int
    is_applied: bool
    true: float
    exchanged: list[float]
    held_out: int
    message = (
        "{rows} rows are put in an order here in which no other array of {rows} rows is put: inputs and labels "
        "no longer belong together"
    )
    advice = (
        "draw one order and apply it to both: order = torch.randperm(n); x, y = x[order], y[order]"
    )

    def evidence(self) -> Iterator[Evidence]:
        best, worst = min(self.exchanged), max(self.exchanged)
        yield Evidence(
            f"labels exchanged between samples train as well: loss of {self.held_out} held-out batches {self.true:.4g} "
            f"with the labels as they are, {best:.4g} to {worst:.4g} with exchanged ones",
            value=self.true,
        )


class PairsShuffledApart(Detector):
    """Inputs and labels were put in different orders before training."""

    name = "pairs-shuffled-apart"
    question = QUESTION
    only_in_check = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        seen, order = unrelated(trace), ordered_alone(trace)
        if seen is None or order is None:
            return
        diagnosis = OrderedAlone(
            rows=order.rows,
            is_applied=order.is_applied,
            true=seen.true,
            exchanged=seen.exchanged,
            held_out=seen.held_out,
        )
        places = next((one.places for one in answered(trace, SLUG)), {})
        yield self.found(
            trace,
            diagnosis,
            severity="warning",
            step=None,
            location=order.location,
            symptom_at=places.get("target") or places.get("loss"),
            certainty="replayed",
        )
