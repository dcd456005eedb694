from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.data.missing_set_epoch import SAMPLER
from torchwhy.detect.views.inputs.loaders_seen import evaluating, made_at, name_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.trace import Trace
from torchwhy.source.analyses.constructors import only_call

SMALLEST_SHARE = 0.001  # Fewer copies move no metric that anybody prints.


class RowsTwice(Diagnosis):
    """A DistributedSampler fills up the last batch of an evaluation with rows that it has handed out already."""

    dataset: str
    rows: int
    copies: int
    parts: int
    message = "the ranks evaluate {copies} of the {rows} rows of `{dataset}` twice"

    advice = (
        "evaluate all rows on one rank, or gather the results of all ranks and keep the first {rows}, in the order of "
        "the dataset; `drop_last=True` would leave rows out instead"
    )

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{self.rows} rows do not divide by {self.parts} ranks, so the DistributedSampler hands out "
            f"{self.rows + self.copies}"
        )


class PaddedEvaluation(Detector):
    """An evaluation on several ranks counts some rows twice."""

    name = "padded-evaluation"
    symptom = "evaluation"

    def scan(self, trace: Trace) -> Iterator[Finding]:  # noqa: ARG002 - told once for all ranks
        yield from ()

    def compare(self, traces: Sequence[Trace]) -> Iterator[Finding]:
        trace = traces[0]
        for loader in evaluating(trace):
            sampler, rows = loader.sampler, loader.rows
            if sampler is None or sampler.kind != SAMPLER or not sampler.is_torch:
                continue
            if not rows or sampler.parts is None or sampler.draws is None:
                continue
            copies = sampler.parts * sampler.draws - rows
            if copies < SMALLEST_SHARE * rows or copies <= 0:
                continue
            diagnosis = RowsTwice(
                dataset=name_of(loader), rows=rows, copies=copies, parts=sampler.parts
            )
            place = made_at(trace, loader) or only_call(trace.files.values(), SAMPLER)
            yield self.found(trace, diagnosis, severity="note", step=None, location=place)
