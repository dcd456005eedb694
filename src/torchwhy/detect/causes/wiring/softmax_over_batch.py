from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import SAMPLES
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.views.graph.attention import consumers_after_dropout, product_with_values
from torchwhy.detect.views.graph.changed_sample import SamplesAnswer, moved_others, samples_answer
from torchwhy.detect.views.graph.graph_queries import (
    ForwardGraph,
    axis_of,
    base_of,
    expression_of,
)
from torchwhy.detect.views.graph.layer_places import place_of_setting
from torchwhy.detect.views.graph.pooling import sum_over_steps
from torchwhy.detect.views.graph.softmaxes import (
    SOFTMAXES,
    is_of_sequences,
    is_over_samples,
    judge_of_rows,
    layer_of_one_output,
)
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

OVER_CLASSES = "apply it over the classes: `dim=-1`, or `dim=1` for (batch, class, …)"
SINGLE_OUTPUT = "for one output take a sigmoid, in training by `nn.BCEWithLogitsLoss`; a softmax needs one per class"
OVER_THE_SUM = "apply it over the dimension that is summed next, in an attention the keys: `dim=-1`"


class SoftmaxOfOne(Diagnosis):
    """A softmax runs over a dimension of size 1, so it is constant."""

    axis: int
    shape: Shape
    value: Literal[0, 1]
    made_by: str
    made_at: SourceSpan | None
    message = (
        "{function} over a dimension of size 1 (dimension {axis} of {shape}) always returns {value} "
        "and passes no gradient"
    )

    @property
    def wide(self) -> list[int]:
        """Return the dimensions besides that of the samples that have several entries."""
        return [axis for axis in range(1, len(self.shape)) if self.shape[axis] > 1]

    @property
    def remedies(self) -> tuple[str, ...]:
        """Return the advice: the dimension whose entries compete, or no softmax if there is none."""
        if self.axis and self.wide:
            sizes = " or ".join(f"`dim={axis}`, of size {self.shape[axis]}" for axis in self.wide)
            return (f"apply it over the dimension whose entries compete: {sizes}",)
        if self.axis:
            return (SINGLE_OUTPUT,)
        return (OVER_CLASSES,)

    @property
    def function(self) -> str:
        """Return which of the two functions it is: the logarithm of 1 is 0."""
        return "log_softmax" if self.value == 0 else "softmax"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{self.made_by} returns shape {self.shape}: each softmax gets a single number",
            location=self.made_at,
        )


class SamplesCompete(Diagnosis):
    """A softmax runs over the samples of the batch."""

    rows: int
    axis: int = 0
    message = (
        "the softmax runs over dimension {axis}, the {rows} samples of the batch: "
        "they compete with each other"
    )
    advice = OVER_CLASSES


class RowsCompete(SamplesCompete):
    """A softmax runs over the rows of a layer's output, which a loss then judges row by row."""

    judged_by: str
    judged_at: SourceSpan | None

    def evidence(self) -> Iterator[Evidence]:
        claim = f"{self.judged_by} then judges its rows one by one"
        yield Evidence(claim, location=self.judged_at)


class SamplesMoveEachOther(SamplesCompete):
    """A softmax runs over dimension 0 of a model in which one sample changes the outputs of others."""

    moved: int
    tried_at: int
    changed: int

    def evidence(self) -> Iterator[Evidence]:
        yield moved_others(self.moved, rows=self.rows, step=self.tried_at, sample=self.changed)


class WeightsOverOtherDimension(Diagnosis):
    """Weights add up to 1 along another dimension than the one they are summed over."""

    axis: int
    shape: Shape
    summed_by: str
    summed_at: SourceSpan | None
    message = "the softmax runs over dimension {axis} of {shape}, {instead}"
    advice = OVER_THE_SUM

    @property
    def instead(self) -> str:
        """Return what is wrong with the dimension."""
        if self.axis == 0:
            return "the samples of the batch: they compete with each other"
        return f"not over dimension {len(self.shape) - 1}, which the product after it sums over"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{self.summed_by} sums over dimension {len(self.shape) - 1} "
            "of these weights, but along it they do not add up to 1",
            location=self.summed_at,
        )


class PoolingOverSamples(WeightsOverOtherDimension):
    """Weights of the steps of a sequence add up to 1 along the samples."""

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{self.summed_by} sums over dimension 1 of these weights for each of "
            f"{self.shape[0]} samples, but along it they do not add up to 1",
            location=self.summed_at,
        )


class SoftmaxOverBatch(Detector):
    """A softmax runs over the samples of the batch, or over a dimension of size one."""

    name = "softmax-over-batch"
    question = SAMPLES
    every_observation = True
    settled = (SoftmaxOfOne, RowsCompete, WeightsOverOtherDimension, SamplesMoveEachOther)

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph, answer = ForwardGraph(trace), samples_answer(trace)
        seen = set()
        for softmax in graph.operations(*SOFTMAXES):
            axis = axis_of(softmax)
            if axis is None or softmax.location in seen or not graph.trains(softmax):
                continue
            diagnosis = _judge(graph, softmax, axis) or _judge_by_trial(trace, softmax, answer)
            if diagnosis is None:
                continue
            seen.add(softmax.location)
            # Queries or slots may compete on purpose.
            is_meant = isinstance(diagnosis, WeightsOverOtherDimension)
            yield self.found(
                trace,
                diagnosis,
                severity="note" if is_meant and not is_over_samples(trace, softmax) else "error",
                step=softmax.step,
                location=place_of_setting(trace, softmax),
                symptom_at=softmax.location,
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case SoftmaxOfOne(made_at=place, axis=axis) as found:
                for wide in found.wide if axis else ():
                    yield from modules.other_dimension([finding.location], source, axis=wide)
                if axis:
                    yield from modules.sigmoid_for_one(finding.location, source)
                yield from modules.other_dimension([place, finding.location], source)
            case RowsCompete(judged_at=place) | WeightsOverOtherDimension(summed_at=place):
                yield from modules.other_dimension([place, finding.location], source)
            case SamplesCompete():
                yield from modules.other_dimension([finding.location], source)


def _judge(graph: ForwardGraph, softmax: GraphOperation, axis: int) -> Diagnosis | None:
    """Judge a softmax by what computes its input and what uses its result."""
    shape = softmax.shape
    if (layer := layer_of_one_output(graph, softmax)) is not None:
        return SoftmaxOfOne(
            axis=axis,
            shape=shape,
            value=0 if base_of(softmax) == "_log_softmax" else 1,
            made_by=expression_of(layer.location, "the layer before it"),
            made_at=layer.location,
        )
    if (judge := judge_of_rows(graph, softmax)) is not None:
        return RowsCompete(
            rows=shape[0],
            judged_by=expression_of(judge.location, "the loss"),
            judged_at=judge.location,
        )
    if (product := product_with_values(graph, softmax)) is not None:
        return WeightsOverOtherDimension(
            axis=axis,
            shape=shape,
            summed_by=expression_of(product.location, "the product with the values"),
            summed_at=product.location,
        )
    total = sum_over_steps(graph, softmax, consumers_after_dropout(graph, softmax))
    if axis == 0 and total is not None:
        return PoolingOverSamples(
            axis=axis,
            shape=shape,
            summed_by=expression_of(total.location, "the sum after it"),
            summed_at=total.location,
        )
    return None


def _judge_by_trial(
    trace: Trace, softmax: GraphOperation, answer: SamplesAnswer | None
) -> SamplesMoveEachOther | None:
    """Judge a softmax over dimension 0 inside a model by how changing one sample changed the others."""
    if answer is None or not answer.mixed or answer.batch_axis != 0 or answer.has_sequence_layer:
        return None
    shape, axis = softmax.shape, axis_of(softmax)
    if axis is None or len(shape) < 2 or shape[axis] != answer.rows or answer.rows in shape[:axis]:
        return None
    # Nodes of a graph, or instances of a bag, may be weighed against each other on purpose.
    sequences = len(shape) > 2 or is_of_sequences(trace, shape)
    if not answer.certain_axis and (not sequences or shape.count(answer.rows) > 1):
        return None
    return SamplesMoveEachOther(
        rows=answer.rows,
        axis=axis,
        moved=answer.moved,
        tried_at=answer.step,
        changed=answer.sample,
    )
