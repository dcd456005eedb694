from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import EVALUATION_MODE
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of, expression_of
from torchwhy.detect.views.training.model_modes import training_modes
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, SourceSpan
from torchwhy.record.learning import ForwardModes, GraphOperation, ModelOutput
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source
from torchwhy.source.readings import is_called_alike, is_rebuilt, readings_of

MODE = "self.training"
LAYERS = {"addmm", "mm", "linear"}
SQUASHED = {"sigmoid", "tanh", "relu", "softplus"}
LOGITS = "binary_cross_entropy_with_logits"


class LargestOfOne(Diagnosis):
    """The program takes the largest of a single output, which is always the first."""

    what: str
    path: str
    shape: Shape
    message = (
        "`{what}` is 0 for every sample: `{path}` returns one number for each, shape {shape}, "
        "and the largest of one is always the first"
    )
    advice = "compare the number with a threshold: `logit > 0`, or `probability > 0.5`"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"`{self.path}` returned shape {self.shape} when it was trained")


class HalfOfLogits(Diagnosis):
    """The program compares logits with 0.5, the threshold of probabilities."""

    what: str
    path: str
    loss: str
    loss_at: SourceSpan | None
    message = (
        "`{what}` takes 0.5 as the threshold of logits: `{path}` returns no probabilities, "
        "and 0.5 of them is the logit 0"
    )
    advice = "compare logits with 0, or their sigmoid with 0.5"

    def evidence(self) -> Iterator[Evidence]:
        claim = (
            f"in training, {self.loss} takes the output as logits and applies the sigmoid itself"
        )
        yield Evidence(claim, location=self.loss_at)


class OutputMisread(Detector):
    """The program reads its model's output in a way that does not fit what it was trained to be."""

    name = "output-misread"
    question = EVALUATION_MODE
    symptom = "evaluation"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        if not _has_single_output(trace) and not any(ForwardGraph(trace).operations(LOGITS)):
            return
        for mode in trace.of(ForwardModes):
            source = trace.files.get(mode.location.file) if mode.location is not None else None
            if source is None or mode.location is None or not training_modes(trace, mode.path):
                continue
            if _may_return_else(trace, source, mode):
                continue
            for reading in readings_of(source, mode.location):
                what = " ".join((source.of(reading.node) or "").split())
                diagnosis = (
                    _largest_of_one(trace, mode.path, what)
                    if reading.how == "largest"
                    else _half_of_logits(trace, mode.path, what)
                )
                if diagnosis is not None:
                    yield self.found(
                        trace,
                        diagnosis,
                        severity="warning",
                        step=mode.first_step,
                        location=source.span(reading.node),
                    )
                    return


def _has_single_output(trace: Trace) -> bool:
    """Tell whether any model returns one number for each of several samples."""
    return any(_is_column(one.facts.shape) for one in trace.of(ModelOutput))


def _is_column(shape: list[int]) -> bool:
    return len(shape) == 2 and shape[0] > 1 and shape[1] == 1


def _may_return_else(trace: Trace, source: Source, mode: ForwardModes) -> bool:
    """Tell whether a model may return something else here than in training: by its mode, arguments or parts."""
    if any(MODE in text.text for text in trace.files.values()):
        return True
    trained = [one.location for one in training_modes(trace, mode.path)]
    places = [
        place
        for place in (mode.location, *trained)
        if place is not None and mode.location is not None and place.file == mode.location.file
    ]
    return not is_called_alike(source, places) or is_rebuilt(source, mode.path.partition(".")[0])


def _largest_of_one(trace: Trace, path: str, what: str) -> LargestOfOne | None:
    """Judge the largest entry along a dimension in which the model has a single one."""
    shapes = [one.facts.shape for one in trace.of(ModelOutput) if one.path == path and one.grad]
    if not shapes or not all(map(_is_column, shapes)):
        return None
    if not _ends_in_one_output(ForwardGraph(trace), path):
        return None  # The number of columns may be that of the candidates.
    return LargestOfOne(what=what, path=path, shape=shapes[0])


def _ends_in_one_output(graph: ForwardGraph, path: str) -> bool:
    """Tell whether the last operation of a model is a layer with a single output, or a function of it."""
    last = _last_of(graph, path)
    while last is not None and base_of(last) in SQUASHED:
        last = graph.source(last)
    return last is not None and base_of(last) in LAYERS and last.shape[1:] == [1]


def _last_of(graph: ForwardGraph, path: str) -> GraphOperation | None:
    """Return the last operation of a model."""
    own = [
        one
        for one in (*graph.operations(), *graph.views())
        if one.module is not None and (one.module == path or one.module.startswith(f"{path}."))
    ]
    return max(own, key=lambda one: one.order, default=None)


def _half_of_logits(trace: Trace, path: str, what: str) -> HalfOfLogits | None:
    """Judge a threshold of 0.5 on what the loss takes for logits."""
    graph = ForwardGraph(trace)
    last = _last_of(graph, path)
    computed = graph.source(last) if last is not None and last.is_view else last
    for loss in graph.operations(LOGITS):
        made = graph.source(loss)
        # Logits that the model keeps beside its output are not what the program reads.
        if made is not None and computed is not None and made.order == computed.order:
            return HalfOfLogits(
                what=what,
                path=path,
                loss=expression_of(loss.location, "the loss"),
                loss_at=loss.location,
            )
    return None
