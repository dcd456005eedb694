from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.data.evaluation_data import QUESTION
from torchwhy.detect.views.inputs.loaders_seen import evaluating, loader_name, made_at, name_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.inputs.data_events import LoaderSeen, RowsShared
from torchwhy.record.learning import ForwardModes
from torchwhy.record.trace import Trace

SHARE = 0.05  # Of the evaluated rows: real data sets hold a few rows twice.
BY_CHANCE = 5.0  # Times as many as rows of the training set that occur in it twice.
FEWEST = 5  # rows
OF_ALL_ROWS = ("SequentialSampler", "RandomSampler", "WeightedRandomSampler")


class RowsInBoth(Diagnosis):
    """Rows of the evaluation data were trained on."""

    training: str
    evaluation: str
    shared: int
    evaluated: int
    trained: int
    by: str
    repeated: int
    message = "{shared} of the {evaluated} evaluated rows of `{evaluation}` are also trained on, from `{training}`"
    advice = "split the rows once, and give each part to one loader"

    def evidence(self) -> Iterator[Evidence]:
        if self.by == "index":
            yield Evidence("both draw from one dataset; the indices that they drew were compared")
        else:
            yield Evidence(
                f"the content of the rows was compared; {self.repeated} of the {self.trained} training rows occur "
                "twice in the training data itself",
                value=float(self.repeated),
            )


class TrainingRowsRun(RowsInBoth):
    """Training rows run without gradients; whether as an evaluation is open."""

    message = (
        "all {evaluated} rows of `{evaluation}`, which the model gets without gradients, are also trained on, "
        "from `{training}`"
    )
    advice = "if they are to show how the model does on new data, split the rows once, and give each part to one loader"


class TrainEvaluationOverlap(Detector):
    """Rows that a model was trained on are evaluated as if they were new to it."""

    name = "train-evaluation-overlap"
    question = QUESTION
    symptom = "evaluation"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        loaders = {one.number: one for one in evaluating(trace)}
        every = trace.of(RowsShared)
        for one in every:
            evaluation = loaders.get(one.evaluation)
            if evaluation is None or not _is_leak(one) or _is_a_probe(one, every):
                continue
            if one.one_dataset and not _is_split(one, trace):
                continue
            yield self._finding(trace, one, evaluation)
            return

    def _finding(self, trace: Trace, shared: RowsShared, evaluation: LoaderSeen) -> Finding:
        every = {one.number: one for one in trace.of(LoaderSeen)}
        names = [name_of(every[shared.training]), name_of(evaluation)]
        if names[0] == names[1]:
            names = [loader_name(every[shared.training]), loader_name(evaluation)]
        may_serve = _may_serve(shared, trace)
        kind = TrainingRowsRun if may_serve else RowsInBoth
        diagnosis = kind(
            training=names[0],
            evaluation=names[1],
            shared=shared.shared,
            evaluated=shared.evaluated,
            trained=shared.trained,
            by=shared.by,
            repeated=shared.repeated,
        )
        return self.found(
            trace,
            diagnosis,
            severity="note" if may_serve or _scores_all(shared, evaluation) else "warning",
            step=None,
            location=made_at(trace, evaluation),
        )


def _is_leak(one: RowsShared) -> bool:
    """Tell whether more rows are in both than chance gives; an evaluation of the training set itself is none."""
    if one.shared == one.evaluated == one.trained or one.shared < FEWEST:
        return False
    chance = one.repeated / max(1, one.trained)
    return one.shared / max(1, one.evaluated) >= max(SHARE, BY_CHANCE * chance)


def _is_split(one: RowsShared, trace: Trace) -> bool:
    """Tell whether samplers split one dataset in two, and the parts overlap; else it is evaluated as it is trained."""
    samplers = {loader.number: loader.sampler for loader in trace.of(LoaderSeen)}
    both = [samplers[one.training], samplers[one.evaluation]]
    splits = all(sampler is not None and sampler.kind not in OF_ALL_ROWS for sampler in both)
    return splits and one.shared < one.evaluated


def _is_a_probe(one: RowsShared, every: list[RowsShared]) -> bool:
    """Tell whether these are some training rows, evaluated to compare them with others that are new."""
    others = [o for o in every if o.training == one.training and o.evaluation != one.evaluation]
    return one.shared == one.evaluated and any(not _is_leak(o) and not o.shared for o in others)


def _scores_all(one: RowsShared, evaluation: LoaderSeen) -> bool:
    """Tell whether rows without labels are evaluated, all training rows among them, as to find the odd ones."""
    return one.shared == one.trained and len(evaluation.fields) == 1


def _may_serve(one: RowsShared, trace: Trace) -> bool:
    """Tell whether training rows alone run without gradients, and may serve something else than an evaluation.

    New rows may be evaluated at another place, as beside a memory or after statistics were gathered; the results of
    statistics are dropped; and what chooses rows leads to a second place that trains.
    """
    if one.shared < one.evaluated:
        return False
    modes = trace.of(ForwardModes)
    alone = [mode for mode in modes if not mode.grad]
    trained = [mode for mode in modes if mode.backwards]
    return any(mode.discarded for mode in alone) or any(
        first.path == second.path and first.location != second.location
        for group in (alone, trained)
        for first, second in combinations(group, 2)
    )
