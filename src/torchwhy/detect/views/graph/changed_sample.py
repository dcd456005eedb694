"""The experiment that changes one sample: do the outputs of other samples change?"""

from __future__ import annotations

from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of
from torchwhy.finding import Evidence, SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import SAMPLES_QUESTION, Experiment, GraphOperation
from torchwhy.record.trace import Trace


@dataclass(frozen=True)
class SamplesAnswer:
    """Changing one sample moved the outputs of `moved` other samples of `rows`.

    `placed` is how far the outputs of two samples that change places differ, relative to the size of the output.
    `batch_axis` is the batch dimension of the input. `layer` is a recurrent or attention layer between input and
    output that takes its first dimension as time.
    """

    step: int
    path: str
    batch_axis: int
    rows: int
    moved: int
    certain_axis: bool
    sample: int = 0
    placed: float = 0.0
    layer: str | None = None
    layer_kind: str | None = None
    layer_input: list[int] | None = None
    layer_made: SourceSpan | None = None
    layer_called: SourceSpan | None = None

    @property
    def mixed(self) -> bool:
        """Tell whether samples affect each other."""
        return self.moved > 0

    @property
    def proof(self) -> Evidence:
        """Return the evidence: what changing one sample did."""
        return moved_others(self.moved, rows=self.rows, step=self.step, sample=self.sample)

    @property
    def has_sequence_layer(self) -> bool:
        """Tell whether the model has a layer that expects time as its first dimension."""
        return self.layer is not None


def moved_others(moved: int, *, rows: int, step: int, sample: int) -> Evidence:
    """Return the evidence that changing one of `rows` samples moved the outputs of others."""
    return Evidence(
        f"changing only sample {sample} moved the outputs of {moved} of {rows - 1} other samples "
        "(tried on the live model)",
        value=float(moved),
        step=step,
    )


def samples_answer(trace: Trace) -> SamplesAnswer | None:
    """Return the answer of the first such experiment; None if it did not run."""
    for experiment in trace.of(Experiment):
        if experiment.question == SAMPLES_QUESTION and "moved" in experiment.answer:
            said = experiment.answer
            given = said.get("layer input")
            return SamplesAnswer(
                step=experiment.step,
                path=str(said["path"]),
                batch_axis=int(float(str(said["batch axis"]))),
                rows=int(float(str(said["rows"]))),
                moved=int(float(str(said["moved"]))),
                certain_axis=bool(said.get("certain axis")),
                sample=int(float(str(said.get("sample", 0)))),
                placed=float(str(said.get("placed") or 0.0)),
                layer=_text(said.get("layer")),
                layer_kind=_text(said.get("layer kind")),
                layer_input=[int(size) for size in given] if isinstance(given, list) else None,
                layer_made=experiment.places.get("made"),
                layer_called=experiment.places.get("called"),
            )
    return None


@dataclass(frozen=True)
class TimeFirst:
    """A layer that expects time as its first dimension, in a model on which the experiment could not run."""

    layer: str
    kind: str
    made: SourceSpan | None


def time_first_layer(trace: Trace) -> TimeFirst | None:
    """Return the layer that prompted the experiment, if the experiment has no answer."""
    for experiment in trace.of(Experiment):
        said = experiment.answer
        if experiment.question == SAMPLES_QUESTION and "moved" not in said and "layer" in said:
            made = experiment.places.get("made")
            return TimeFirst(str(said["layer"]), str(said.get("layer kind")), made)
    return None


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


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
