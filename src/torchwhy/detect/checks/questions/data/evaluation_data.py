"""Is the evaluation data fixed, apart from the training data, and prepared alike?"""

from __future__ import annotations

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import Need
from torchwhy.detect.views.inputs.loaders_seen import evaluating, training
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.inputs.data_events import EVALUATION_QUESTION, RowsShared
from torchwhy.record.trace import Trace

PROBES = ("data probe", "batch probe", "sampler probe")

TWO_LOADERS = Need(
    lambda trace: bool(training(trace)) and bool(evaluating(trace)),
    "no loader was seen that only evaluates beside one that trains",
    probes=PROBES,
)


class EvaluationDataSeen(Diagnosis):
    """How many rows were evaluated, and how many of them were trained on."""

    loader: str
    evaluated: int
    shared: int
    message = "{shared} of {evaluated} rows of `{loader}` were trained on"


def _measured(trace: Trace) -> Diagnosis | None:
    names = {one.number: one.name or one.dataset for one in evaluating(trace)}
    for one in trace.of(RowsShared):
        return EvaluationDataSeen(
            loader=names.get(one.evaluation, "the evaluation data"),
            evaluated=one.evaluated,
            shared=one.shared,
        )
    return None


QUESTION = ask(
    EVALUATION_QUESTION,
    "Is evaluation data fixed, apart from the training data, and prepared alike?",
    TWO_LOADERS,
    by=_measured,
    in_rehearsal=True,
)
