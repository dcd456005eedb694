from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.data.evaluation_data import QUESTION
from torchwhy.detect.views.inputs.loaders_seen import evaluating, made_at, name_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Finding, SourceSpan
from torchwhy.record.inputs.data_events import RowChanged
from torchwhy.record.trace import Trace


class RowDiffers(Diagnosis):
    """The same row of the evaluation data has other values when it is read again."""

    dataset: str
    index: int
    changed: list[str]
    kept: list[str]
    random_at: SourceSpan | None
    message = (
        "the evaluation data changes when it is read again: row {index} of `{dataset}` differed in {fields}, "
        "with the same {same}"
    )
    advice = "leave random augmentation out of the evaluation data, so that two evaluations can be compared"

    @property
    def fields(self) -> str:
        """Return the fields that changed."""
        return " and ".join(self.changed)

    @property
    def same(self) -> str:
        """Return the fields that stayed the same."""
        return " and ".join(self.kept)


class RandomEvaluationData(Detector):
    """Evaluation data are augmented at random, so that each evaluation measures something else."""

    name = "random-evaluation-data"
    question = QUESTION
    symptom = "evaluation"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        loaders = {one.number: one for one in evaluating(trace)}
        for changed in trace.of(RowChanged):
            loader = loaders.get(changed.loader)
            # Rows that keep nothing are fresh samples: a dataset that makes a new problem for each request.
            if loader is None or not loader.after or not changed.kept:
                continue
            diagnosis = RowDiffers(
                dataset=name_of(loader),
                index=changed.index,
                changed=changed.changed,
                kept=changed.kept,
                random_at=changed.location,
            )
            yield self.found(
                trace,
                diagnosis,
                severity="warning",
                step=changed.step,
                location=changed.location or made_at(trace, loader),
            )
            return
