"""What the experiment with one changed sample said: do the outputs of other samples move?"""

from __future__ import annotations

from dataclasses import dataclass

from torchwhy.finding import Evidence, SourceSpan
from torchwhy.record.learning import SAMPLES_QUESTION, Experiment
from torchwhy.record.trace import Trace


@dataclass(frozen=True)
class SamplesAnswer:
    """`moved` of the `rows` outputs moved besides sample 0's own; `batch_axis` is the input's dimension of samples.

    The layer is one that recurs or attends over its first dimension, on the way from the input to the output.
    """

    step: int
    path: str
    batch_axis: int
    rows: int
    moved: int
    certain_axis: bool
    layer: str | None = None
    layer_kind: str | None = None
    layer_input: list[int] | None = None
    layer_made: SourceSpan | None = None
    layer_called: SourceSpan | None = None

    @property
    def mixed(self) -> bool:
        """Tell whether samples reach each other."""
        return self.moved > 0

    @property
    def proof(self) -> Evidence:
        """Return what changing one sample did."""
        return moved_others(self.moved, rows=self.rows, step=self.step)

    @property
    def has_sequence_layer(self) -> bool:
        """Tell whether a layer that takes time first stands in the model."""
        return self.layer is not None


def moved_others(moved: int, *, rows: int, step: int) -> Evidence:
    """Return what changing one of `rows` samples did to the others."""
    return Evidence(
        f"changing sample 0 alone moved the outputs of {moved} of {rows - 1} other samples "
        "(tried on the live model)",
        value=float(moved),
        step=step,
    )


def samples_answer(trace: Trace) -> SamplesAnswer | None:
    """Return the answer of the first experiment, None if it was not or could not be made."""
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
                layer=_text(said.get("layer")),
                layer_kind=_text(said.get("layer kind")),
                layer_input=[int(size) for size in given] if isinstance(given, list) else None,
                layer_made=experiment.places.get("made"),
                layer_called=experiment.places.get("called"),
            )
    return None


def unfolds_otherwise(before: list[int], after: list[int], rows: int) -> bool:
    """Tell whether (samples · steps, …) became (steps, samples, …): right only if they were folded in that order."""
    return (
        len(after) > 2
        and after[1] == rows
        and after[0] not in (1, rows)
        and before[:1] == [after[0] * rows]
        and before[1:] == after[2:]
    )


@dataclass(frozen=True)
class TimeFirst:
    """A layer that takes time first, where the model could not be tried as a whole."""

    layer: str
    kind: str
    made: SourceSpan | None


def time_first_layer(trace: Trace) -> TimeFirst | None:
    """Return the layer that gave reason to ask, if no answer was to be had."""
    for experiment in trace.of(Experiment):
        said = experiment.answer
        if experiment.question == SAMPLES_QUESTION and "moved" not in said and "layer" in said:
            made = experiment.places.get("made")
            return TimeFirst(str(said["layer"]), str(said.get("layer kind")), made)
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
