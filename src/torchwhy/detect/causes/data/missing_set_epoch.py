from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.data.drawn_data import QUESTION
from torchwhy.detect.views.inputs.loaders_seen import made_at, name_of, training
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.inputs.data_events import EpochDrawn, LoaderSeen
from torchwhy.record.trace import Trace
from torchwhy.source.analyses.constructors import only_call

SAMPLER = "DistributedSampler"
FEWEST_DRAWS = 10  # Ten rows have the same order twice by chance once in three million times.


class SameOrder(Diagnosis):
    """A DistributedSampler that shuffles gave the same order in every epoch."""

    dataset: str
    epochs: int
    draws: int
    message = "{epochs} epochs draw the rows of `{dataset}` in the same order, although the DistributedSampler shuffles"
    advice = "call `sampler.set_epoch(epoch)` before each epoch: the order depends on the seed and on that number"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"the {self.draws} rows of each epoch are the same, one by one")


class MissingSetEpoch(Detector):
    """A DistributedSampler that shuffles gives the same order in every epoch."""

    name = "missing-set-epoch"
    question = QUESTION

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for loader in training(trace):
            epochs = _alike(loader)
            if not epochs:
                continue
            diagnosis = SameOrder(
                dataset=name_of(loader), epochs=len(epochs), draws=epochs[0].draws
            )
            place = only_call(trace.files.values(), SAMPLER) or made_at(trace, loader)
            yield self.found(trace, diagnosis, severity="warning", step=0, location=place)


def _alike(loader: LoaderSeen) -> list[EpochDrawn]:
    """Return the passes that trained, if a shuffling sampler gave them all the same order."""
    sampler = loader.sampler
    if sampler is None or sampler.kind != SAMPLER or not sampler.is_torch or not sampler.shuffles:
        return []
    epochs = [one for one in loader.epochs if one.trains and one.distinct >= FEWEST_DRAWS]
    is_same = len(epochs) > 1 and len({one.order for one in epochs}) == 1
    return epochs if is_same else []
