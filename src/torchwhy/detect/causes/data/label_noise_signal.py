from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.data.data_values import QUESTION
from torchwhy.detect.views.graph.graph_queries import ForwardGraph
from torchwhy.detect.views.inputs.loaders_seen import made_at, name_of, training
from torchwhy.detect.views.inputs.row_repeats import no_coincidence
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.inputs.data_events import RowsRepeated
from torchwhy.record.trace import Trace

FEWEST = 4
MOSTLY = 0.5  # Of all rows: if so many inputs recur, each was labelled several times on purpose.
CLASS_LOSSES = ("nll_loss_forward", "nll_loss2d_forward")


class LabelsDisagree(Diagnosis):
    """Rows with exactly the same inputs have different labels."""

    dataset: str
    contradicting: int
    rows: int
    pair: list[int]
    labels: list[int]
    nearest: int
    elements: int
    message = "{contradicting} of the {rows} rows of `{dataset}` have the inputs of another row and a different label"
    advice = "look at these rows: at most one label of each group can be right"

    def evidence(self) -> Iterator[Evidence]:
        (first, second), (one, other) = self.pair, self.labels
        yield Evidence(
            f"rows {first} and {second} are equal in every value, with the labels {one} and {other}"
        )
        yield Evidence(
            f"such a row differs in at least {self.nearest} of its {self.elements} values from every other row: the "
            "rows are not alike by chance",
            value=float(self.nearest),
        )


class LabelNoiseSignal(Detector):
    """The same inputs occur with different labels."""

    name = "label-noise-signal"
    question = QUESTION

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if not any(ForwardGraph(trace).operations(*CLASS_LOSSES)):
            return
        loaders = {one.number: one for one in training(trace)}
        for one in trace.of(RowsRepeated):
            loader = loaders.get(one.loader)
            if loader is None or one.contradicting < FEWEST or not no_coincidence(one):
                continue
            if one.recurring >= MOSTLY * one.rows:
                continue
            diagnosis = LabelsDisagree(
                dataset=name_of(loader),
                contradicting=one.contradicting,
                rows=one.rows,
                pair=one.contradiction,
                labels=one.labels,
                nearest=one.nearest,
                elements=one.elements,
            )
            yield self.found(
                trace, diagnosis, severity="note", step=0, location=made_at(trace, loader)
            )
            return
