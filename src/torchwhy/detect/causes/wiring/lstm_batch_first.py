from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.views.graph.changed_sample import (
    SamplesAnswer,
    TimeFirst,
    samples_answer,
    time_first_layer,
)
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of, expression_of
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import ModuleCalled
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

RECURS = {"LSTM": "recurs", "GRU": "recurs", "RNN": "recurs"}


class LstmBatchFirst(Detector):
    """A recurrent or attention layer runs over the samples of the batch, because `batch_first` was forgotten."""

    name = "lstm-batch-first"
    needs = frozenset({"experiment"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        answer = samples_answer(trace)
        if answer is not None and takes_batch_for_time(answer):
            yield self._tried(trace, answer)
        elif answer is None:
            layer = time_first_layer(trace)
            yield from self._read_off(trace, layer) if layer is not None else ()

    def _tried(self, trace: Trace, answer: SamplesAnswer) -> Finding:
        kind, given = answer.layer_kind or "layer", answer.layer_input or []
        called = _call_of(trace, answer.layer)
        where = called.location if called is not None else None
        does = RECURS.get(kind, "attends")
        return Finding(
            detector=self.name,
            severity="error",
            message=f"`{answer.layer}` ({kind}) takes its input {given} as (time, batch, …) "
            f"and {does} over the {answer.rows} samples of the batch",
            step=0,
            rank=trace.rank,
            location=answer.layer_made or where,
            evidence=(
                answer.proof,
                Evidence(
                    f"`{answer.layer}` has batch_first=False and was called with shape {given}",
                    step=0,
                    location=where,
                ),
            ),
            certainty="replayed",
            fixes=(_fix(kind),),
        )

    def _read_off(self, trace: Trace, layer: TimeFirst) -> Iterator[Finding]:
        """Judge by what is taken of the layer's states: the last of dimension 1, which is the last sample."""
        taken = last_of_second_dimension(ForwardGraph(trace), layer.layer)
        called = _call_of(trace, layer.layer)
        if taken is None or called is None:
            return
        shape = taken.input_shapes[0]
        what = expression_of(taken.location, "a selection")
        yield Finding(
            detector=self.name,
            severity="error",
            message=f"`{layer.layer}` ({layer.kind}) takes its input as (time, batch, …): it runs over the {shape[0]} "
            "samples of the batch",
            step=0,
            rank=trace.rank,
            location=layer.made or called.location,
            evidence=(
                Evidence(
                    f"{what} takes the last along dimension 1 of {shape} for the last moment, "
                    "and there the layer has its batch",
                    step=0,
                    location=taken.location,
                ),
            ),
            fixes=(_fix(layer.kind),),
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from modules.batch_first(finding.location, source)


def takes_batch_for_time(answer: SamplesAnswer) -> bool:
    """Tell whether the samples reach each other through a layer whose first dimension is the batch."""
    given = answer.layer_input
    if not answer.mixed or not given or given[0] != answer.rows:
        return False
    # A single sequence has a batch of one, or none: (time, 1, features), (time, features).
    return answer.certain_axis or (len(given) == 3 and given[1] > 1 and given[1] != answer.rows)


def last_of_second_dimension(graph: ForwardGraph, layer: str) -> GraphOperation | None:
    """Return the selection `states[:, -1]` of what a layer gave, where dimension 1 has more than one element."""
    for view in graph.views():
        source = graph.source(view)
        if (
            base_of(view) != "select"
            or source is None
            or source.module != layer
            or view.module == layer
        ):
            continue
        shape, axis, index = view.input_shapes[0], view.scalars.get("1"), view.scalars.get("2")
        if len(shape) == 3 and shape[1] > 1 and axis == 1 and index in (-1, shape[1] - 1):
            return view
    return None


def _call_of(trace: Trace, path: str | None) -> ModuleCalled | None:
    return next((call for call in trace.of(ModuleCalled) if call.path == path), None)


def _fix(kind: str) -> Fix:
    return Fix(
        f"make it with batch_first=True: `{kind}(…, batch_first=True)`", safety="changes-results"
    )
