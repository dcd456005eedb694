from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import SAMPLES
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.views.graph.changed_sample import (
    SamplesAnswer,
    TimeFirst,
    last_of_second_dimension,
    moved_others,
    samples_answer,
    takes_batch_for_time,
    time_first_layer,
)
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, expression_of
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.events import ModuleCalled
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source
from torchwhy.source.readings import is_carried

RECURRENT = {"LSTM", "GRU", "RNN"}


class BatchTakenForTime(Diagnosis):
    """A layer with batch_first=False runs over the samples of the batch."""

    layer: str
    kind_of_layer: str
    rows: int


class SamplesReachEachOther(BatchTakenForTime):
    """Changing one sample changed the outputs of others, through a layer that expects time first."""

    moved: int
    tried_at: int
    changed: int
    given: Shape
    called_at: SourceSpan | None
    message = (
        "`{layer}` ({kind_of_layer}) reads its input {given} as (time, batch, …) "
        "and {runs} over the {rows} samples of the batch"
    )

    @property
    def runs(self) -> str:
        """Return what the layer does along its first dimension."""
        return "recurs" if self.kind_of_layer in RECURRENT else "attends"

    def evidence(self) -> Iterator[Evidence]:
        yield moved_others(self.moved, rows=self.rows, step=self.tried_at, sample=self.changed)
        yield Evidence(
            f"`{self.layer}` has batch_first=False and was called with shape {self.given}",
            location=self.called_at,
        )


class LastSampleTaken(BatchTakenForTime):
    """The program takes the last index of dimension 1 as the last time step, but there the layer has its batch."""

    selection: str
    shape: Shape
    selected_at: SourceSpan | None
    message = (
        "`{layer}` ({kind_of_layer}) reads its input as (time, batch, …): it runs over the {rows} "
        "samples of the batch"
    )

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{self.selection} takes the last index of dimension 1 of {self.shape} as the last time step, "
            "but there the layer has its batch",
            location=self.selected_at,
        )


class LstmBatchFirst(Detector):
    """A recurrent or attention layer runs over the samples of the batch, because `batch_first` is missing."""

    name = "lstm-batch-first"
    question = SAMPLES
    settled = (SamplesReachEachOther,)

    def scan(self, trace: Trace) -> Iterator[Finding]:
        answer = samples_answer(trace)
        if answer is not None and takes_batch_for_time(answer):
            if answer.layer_kind in RECURRENT and _carries_state(trace, answer):
                return  # The rows of a batch are the next steps of the series that the state belongs to.
            yield self._tried(trace, answer)
        elif answer is None:
            layer = time_first_layer(trace)
            yield from self._read_off(trace, layer) if layer is not None else ()

    def _tried(self, trace: Trace, answer: SamplesAnswer) -> Finding:
        called = _call_of(trace, answer.layer)
        where = called.location if called is not None else None
        diagnosis = SamplesReachEachOther(
            layer=str(answer.layer),
            kind_of_layer=answer.layer_kind or "layer",
            rows=answer.rows,
            moved=answer.moved,
            tried_at=answer.step,
            changed=answer.sample,
            given=answer.layer_input or [],
            called_at=where,
        )
        return self.found(
            trace,
            diagnosis,
            severity="error",
            step=called.step if called is not None else 0,
            location=answer.layer_made or where,
            certainty="replayed",
            fixes=[_with_batch_first(diagnosis)],
        )

    def _read_off(self, trace: Trace, layer: TimeFirst) -> Iterator[Finding]:
        """Judge by what the program selects from the layer's states: the last of dimension 1, the last sample."""
        taken = last_of_second_dimension(ForwardGraph(trace), layer.layer)
        called = _call_of(trace, layer.layer)
        if taken is None or called is None:
            return
        shape = taken.input_shapes[0]
        diagnosis = LastSampleTaken(
            layer=layer.layer,
            kind_of_layer=layer.kind,
            rows=shape[0],
            selection=expression_of(taken.location, "a selection"),
            shape=shape,
            selected_at=taken.location,
        )
        yield self.found(
            trace,
            diagnosis,
            severity="error",
            step=called.step,
            location=layer.made or called.location,
            fixes=[_with_batch_first(diagnosis)],
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from modules.batch_first(finding.location, source)


def _call_of(trace: Trace, path: str | None) -> ModuleCalled | None:
    return next((call for call in trace.of(ModuleCalled) if call.path == path), None)


def _carries_state(trace: Trace, answer: SamplesAnswer) -> bool:
    """Tell whether the program gives the model or the layer a state from its last result."""
    places = [
        called.location for path in (answer.path, answer.layer) if (called := _call_of(trace, path))
    ]
    return any(
        is_carried(trace.files[place.file], place)
        for place in places
        if place is not None and place.file in trace.files
    )


def _with_batch_first(diagnosis: BatchTakenForTime) -> Fix:
    kind = diagnosis.kind_of_layer
    return Fix(
        f"create it with batch_first=True: `{kind}(…, batch_first=True)`", safety="changes-results"
    )
