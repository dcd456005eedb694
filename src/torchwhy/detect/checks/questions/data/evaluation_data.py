"""Is the evaluation data fixed, apart from the training data, and prepared alike?"""

from __future__ import annotations

from typing import Any

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import Need, answered
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


EVALUATED_ROWS = "evaluated-rows"
SHARE = 0.05  # Of the evaluated rows: real data sets hold a few rows twice.
FEWEST = 5  # rows


class RowsTrainedAndEvaluated(Diagnosis):
    """Rows that are evaluated again and again were trained on, and others beside them were not."""

    shared: int
    evaluated: int
    trained: int
    message = (
        "{shared} of {evaluated} rows that the model meets again and again under `no_grad` are among the {trained} "
        "rows that it is trained on"
    )
    advice = "split the rows once: `order = torch.randperm(n)`, then `order[:k]` to train and `order[k:]` to evaluate"


def rows_in_both(trace: Trace) -> RowsTrainedAndEvaluated | None:
    """Return the rows of a loop without loaders that are on both sides of a split.

    An evaluation that covers all training rows is one of the whole data. If rows are new to training in its second
    half, not all of them are known: rows of a memory or of a pool are evaluated before they are trained on.
    """
    facts: Any = next((one.answer for one in answered(trace, EVALUATED_ROWS)), None)
    if facts is None or (training(trace) and evaluating(trace)):
        return None
    trained, shared, evaluated, covered, late, twice = (
        int(facts[name])
        for name in ("trained", "shared", "evaluated", "covered", "new in second half", "twice")
    )
    if shared < max(FEWEST, SHARE * evaluated) or covered >= trained or late or twice:
        return None
    return RowsTrainedAndEvaluated(shared=shared, evaluated=evaluated, trained=trained)


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
    denied=rows_in_both,
    in_rehearsal=True,
)
