from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import SAMPLES
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.views.graph.changed_sample import SamplesAnswer, samples_answer
from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of, expression_of
from torchwhy.detect.views.graph.reshapes import (
    PAIRED,
    flattened_apart,
    normalised_over_rows,
    rows_of_a_table,
    skews_padded,
    swaps_axes,
    swaps_heads,
    swaps_rows,
    unfolds_otherwise,
)
from torchwhy.detect.views.inputs.row_vectors import misplaced_vectors
from torchwhy.detect.views.training.network_facts import constant_output, last_observed_step
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import GraphOperation
from torchwhy.record.numbers import Real, decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

RESHAPES = ("view", "_unsafe_view", "reshape", "_reshape_alias")
REDUCTIONS = ("mean", "sum", "amax", "amin", "max", "min", "logsumexp", "median", "nanmean")


class ReshapeMixes(Diagnosis):
    """A reshape changes the order of the sizes."""

    what: str
    before: Shape
    after: Shape
    mixes: Literal["samples", "axes"]
    at: SourceSpan | None
    message = (
        "reshape {before} → {after} does not swap dimensions: it mixes values of different {mixes}"
    )
    advice = "swap with `transpose` or `permute`, then reshape"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{self.what} turns {self.before} into {self.after} without moving a value",
            location=self.at,
        )


class ReductionOverSamples(Diagnosis):
    """A reduction runs over the batch dimension, so all samples have the same output."""

    what: str
    shape: Shape
    rows: int
    path: str
    spread: Real
    input_spread: Real
    seen_at: int
    message = (
        "{what} runs over dimension 0 of {shape}, the {rows} samples of the batch: "
        "{path} returns the same output for all of them"
    )
    advice = "reduce another dimension: 1 for (batch, time, …), the last for features"

    def evidence(self) -> Iterator[Evidence]:
        claim = f"two rows of the output differ by at most {decode(self.spread):.2g} of its size"
        yield Evidence(claim, value=self.spread, step=self.seen_at)
        claim = f"two rows of the input differ by up to {decode(self.input_spread):.2g} of its size"
        yield Evidence(claim, value=self.input_spread, step=self.seen_at)


class FlattenedApart(Diagnosis):
    """Predictions and targets are flattened with their first two dimensions in different orders."""

    loss: str
    predictions: Shape
    targets: Shape
    message = (
        "{loss} pairs values of different samples: the predictions are flattened from {predictions}, "
        "the targets from {targets}"
    )
    advice = "give both the same order before flattening: `predictions.transpose(0, 1)`, or `targets.t()`"

    def evidence(self) -> Iterator[Evidence]:
        first, second = self.targets[:2]
        yield Evidence(
            f"the targets run over {second} values of the first of {first} rows, then of the next; "
            f"the predictions run over {first} rows at the first of {second} values"
        )


class PlacedInBatch(Diagnosis):
    """Each sample gets the row of a table for its place in the batch, which is meant for its steps."""

    what: str
    rows: int
    steps: int
    difference: Real
    tried_at: int
    message = (
        "{what} adds another row of the table to each of the {rows} rows of dimension 0, and the same to its {steps} "
        "entries of dimension 1: the output of a row depends on its place"
    )
    advice = (
        "if dimension 0 is the batch, let the table be (1, steps, features) and cut it by x.size(1)"
    )

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"two rows that change places get other outputs: they differ by {decode(self.difference):.2g} of the "
            "output's size (tried on the live model)",
            value=self.difference,
            step=self.tried_at,
        )


class NormalisedOverSamples(Diagnosis):
    """Embeddings are divided by norms over the samples instead of over their features."""

    what: str
    shape: Shape
    product: str
    product_at: SourceSpan | None
    message = (
        "{what} divides {shape} by norms over dimension 0, the samples: the rows do not get length 1, and each depends "
        "on the others"
    )
    advice = "normalise over the features: `F.normalize(x, dim=1)`, or `dim=-1`"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{self.product} then compares the rows with each other, as vectors of {self.shape[1]} features",
            location=self.product_at,
        )


class VectorOverColumns(Diagnosis):
    """A vector with one number per sample is applied to the last dimension, which has the same size."""

    what: str
    vector: str
    rows: int
    shape: Shape
    vector_at: SourceSpan | None
    rows_at: SourceSpan | None
    message = (
        "{vector} holds one number for each of the {rows} samples, but {what} spreads it over the last dimension of "
        "{shape}, which has the same size: each sample gets the numbers of all"
    )
    advice = "give it a dimension for each of the others: `vector.view(-1, 1, 1, 1)`"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"it has shape [{self.rows}]", location=self.vector_at)
        yield Evidence(
            "the same draw is given to the samples one by one here", location=self.rows_at
        )


class SamplesMixed(Detector):
    """A reshape in place of a transpose mixes values of different samples or axes."""

    name = "samples-mixed"
    question = SAMPLES
    settled = (ReshapeMixes, FlattenedApart)

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        answer = samples_answer(trace)
        reshapes = [*graph.views(), *graph.operations("_unsafe_view")]
        seen = set()
        for reshape in sorted(reshapes, key=lambda operation: operation.order):
            if (
                base_of(reshape) not in RESHAPES
                or not reshape.input_shapes
                or reshape.issuer != "user"  # code of torch and of packages reshapes correctly
            ):
                continue
            before, after = reshape.input_shapes[0], reshape.shape
            rows = answer.rows if answer is not None and answer.mixed else 0
            mixed = rows and (
                swaps_rows(before, after, rows) or unfolds_otherwise(before, after, rows)
            )
            turned = swaps_axes(before, after) or swaps_heads(before, after)
            turned = turned and not skews_padded(graph, reshape)
            if not (mixed or turned) or reshape.location in seen:
                continue
            seen.add(reshape.location)
            yield self._finding(trace, reshape, answer if mixed else None)
        if not seen:
            yield from self._averaged(trace, graph)
        yield from self._over_columns(trace, graph)
        yield from self._flattened(trace, graph)
        yield from self._normalised(trace, graph)
        if answer is not None and answer.placed and answer.batch_axis == 0:
            yield from self._placed(trace, graph, answer)

    def _placed(
        self, trace: Trace, graph: ForwardGraph, answer: SamplesAnswer
    ) -> Iterator[Finding]:
        """Yield the sum that gives each sample a row of a table."""
        total = rows_of_a_table(graph, answer.rows)
        if total is None:
            return
        diagnosis = PlacedInBatch(
            what=expression_of(total.location, "a sum"),
            rows=answer.rows,
            steps=total.shape[1],
            difference=answer.placed,
            tried_at=answer.step,
        )
        yield self.found(
            trace,
            diagnosis,
            severity="note",
            step=total.step,
            location=total.location,
            certainty="replayed",
        )

    def _normalised(self, trace: Trace, graph: ForwardGraph) -> Iterator[Finding]:
        """Yield the division by norms over the samples."""
        found = normalised_over_rows(graph)
        if found is None:
            return
        division, product = found
        diagnosis = NormalisedOverSamples(
            what=expression_of(division.location, "a division"),
            shape=division.shape,
            product=expression_of(product.location, "a product"),
            product_at=product.location,
        )
        yield self.found(
            trace, diagnosis, severity="error", step=division.step, location=division.location
        )

    def _flattened(self, trace: Trace, graph: ForwardGraph) -> Iterator[Finding]:
        """Yield the first loss whose operands were flattened in different orders."""
        for loss in graph.operations(*PAIRED):
            found = flattened_apart(graph, loss)
            if found is None:
                continue
            diagnosis = FlattenedApart(
                loss=expression_of(loss.location, "the loss"),
                predictions=found[0],
                targets=found[1],
            )
            yield self.found(
                trace, diagnosis, severity="error", step=loss.step, location=loss.location
            )
            return

    def _over_columns(self, trace: Trace, graph: ForwardGraph) -> Iterator[Finding]:
        """Yield the first vector of numbers per sample that meets the last dimension."""
        for one in misplaced_vectors(graph):
            diagnosis = VectorOverColumns(
                what=expression_of(one.operation.location, "an operation"),
                vector=expression_of(one.vector.location, "a vector"),
                rows=one.drawn.shape[0],
                shape=one.shape,
                vector_at=one.vector.location,
                rows_at=one.rows_at.location,
            )
            yield self.found(
                trace,
                diagnosis,
                severity="error",
                step=one.operation.step,
                location=one.operation.location,
            )
            return

    def _averaged(self, trace: Trace, graph: ForwardGraph) -> Iterator[Finding]:
        """Yield the reduction over the samples that leaves the same output for all of them."""
        last_step = last_observed_step(trace)
        outputs = [constant_output(trace, step) for step in (0, last_step or 0)]
        # Equal outputs at a single step may be chance, as with a head that starts at 0.
        if last_step is None or outputs[0] is None or outputs[1] is None or trace.alarms:
            return
        rows, path = outputs[0].rows, outputs[0].path
        reductions = (o for o in graph.operations(*REDUCTIONS) if over_samples(o, rows))
        for reduction in reductions:
            source = graph.source(reduction)
            users = graph.consumers_of(source) if source is not None else []
            # A tensor that is also used unreduced, as in a manual normalisation, still tells the samples apart.
            if not graph.trains(reduction) or not all(over_samples(one, rows) for one in users):
                continue
            diagnosis = ReductionOverSamples(
                what=expression_of(reduction.location, "a reduction"),
                shape=reduction.input_shapes[0],
                rows=rows,
                path=path,
                spread=outputs[1].spread,
                input_spread=outputs[1].input_spread,
                seen_at=last_step,
            )
            yield self.found(
                trace, diagnosis, severity="error", step=reduction.step, location=reduction.location
            )
            return

    def _finding(
        self, trace: Trace, reshape: GraphOperation, answer: SamplesAnswer | None
    ) -> Finding:
        diagnosis = ReshapeMixes(
            what=expression_of(reshape.location, "a reshape"),
            before=reshape.input_shapes[0],
            after=reshape.shape,
            mixes="samples" if answer is not None else "axes",
            at=reshape.location,
        )
        return self.found(
            trace,
            diagnosis,
            severity="error" if answer is not None else "warning",
            step=reshape.step,
            location=reshape.location,
            evidence=[answer.proof] if answer is not None else [],
            certainty="replayed" if answer is not None else "observed",
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case ReshapeMixes(before=before, after=after):
                yield from shapes.axes_swapped(finding.location, source, before=before, after=after)
            case ReductionOverSamples():
                yield from modules.over_next_dimension(finding.location, source)


def over_samples(operation: GraphOperation, rows: int) -> bool:
    """Tell whether an operation reduces dimension 0, the samples, and no other dimension."""
    given = operation.input_shapes[0] if operation.input_shapes else []
    if base_of(operation) not in REDUCTIONS or len(given) < 2 or given[0] != rows:
        return False
    argument = operation.scalars.get("1")
    axes = argument if isinstance(argument, list) else [argument]
    return axes in ([0], [-len(given)])
