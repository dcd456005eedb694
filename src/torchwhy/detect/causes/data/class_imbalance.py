from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.data.data_values import QUESTION
from torchwhy.detect.views.graph.graph_queries import ForwardGraph
from torchwhy.detect.views.inputs.loaders_seen import made_at, name_of, training
from torchwhy.detect.views.losses.bounded_losses import bounded_losses, is_whole_loss
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Finding
from torchwhy.record.inputs.data_events import LabelOrder
from torchwhy.record.trace import Trace

MOSTLY = 0.95  # Of the rows drawn: one class alone, so that a constant answer is right 19 times out of 20.
FEWEST_ROWS = 100


class OneClassPrevails(Diagnosis):
    """Nearly all rows that are drawn for training have one and the same class, and the loss counts all alike."""

    dataset: str
    label: str
    count: int
    rows: int
    classes: int
    message = (
        "{count} of the {rows} rows drawn from `{dataset}` have label {label}: a model that always answers {label} is "
        "right {share:.1%} of the time"
    )
    advice = (
        "judge the model by its answers for each class rather than by accuracy; class weights in the loss or a "
        "WeightedRandomSampler give the rare classes more weight"
    )

    @property
    def share(self) -> float:
        """Return the share of that class."""
        return self.count / self.rows


class ClassImbalance(Detector):
    """One class makes up nearly all training rows as they are drawn."""

    name = "class-imbalance"
    question = QUESTION

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for loader in training(trace):
            label = _prevailing(loader.labels) if loader.labels is not None else None
            if loader.labels is None or label is None or not _counts_all_alike(trace):
                continue
            diagnosis = OneClassPrevails(
                dataset=name_of(loader),
                label=label,
                count=loader.labels.counts[label],
                rows=loader.labels.rows,
                classes=loader.labels.classes,
            )
            yield self.found(
                trace, diagnosis, severity="note", step=0, location=made_at(trace, loader)
            )


def _prevailing(labels: LabelOrder) -> str | None:
    label = max(labels.counts, key=lambda one: labels.counts[one])
    enough = labels.rows >= FEWEST_ROWS and labels.counts[label] >= MOSTLY * labels.rows
    return label if enough else None


def _counts_all_alike(trace: Trace) -> bool:
    """Tell whether the whole loss is a cross entropy without weights."""
    graph = ForwardGraph(trace)
    whole = [one for one in bounded_losses(graph) if is_whole_loss(graph, one)]
    return any(one.formula == "cross entropy" for one in whole)
