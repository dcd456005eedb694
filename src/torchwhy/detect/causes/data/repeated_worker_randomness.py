from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.data.worker_randomness import QUESTION
from torchwhy.detect.views.inputs.loaders_seen import made_at, name_of, training
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.inputs.data_events import WorkersCompared
from torchwhy.record.trace import Trace


class WorkersAlike(Diagnosis):
    """Workers draw the same random numbers."""

    dataset: str
    workers: int
    row: int
    message = "the {workers} workers of `{dataset}` draw the same random numbers"
    advice = (
        "make the generator in each worker, seeded by torch.initial_seed(), "
        "instead of once before the workers start"
    )

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"two workers read row {self.row} twice each: the values changed from one reading to the next, and both "
            "workers read the same ones"
        )


class RepeatedWorkerRandomness(Detector):
    """Several workers of a loader augment their rows with the same random numbers."""

    name = "repeated-worker-randomness"
    question = QUESTION
    only_in_check = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        loaders = {one.number: one for one in training(trace)}
        for one in trace.of(WorkersCompared):
            loader = loaders.get(one.loader)
            if loader is None or not (one.is_random and one.is_repeated):
                continue
            yield self.found(
                trace,
                WorkersAlike(dataset=name_of(loader), workers=loader.workers, row=one.row),
                severity="warning",
                step=None,
                location=made_at(trace, loader),
                certainty="replayed",
            )
