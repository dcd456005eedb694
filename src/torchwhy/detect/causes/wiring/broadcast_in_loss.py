from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import LOSS_FITS
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.views.graph.graph_queries import (
    ELEMENTWISE,
    ERRORS,
    ForwardGraph,
    base_of,
    elements,
    expression_of,
)
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

BINARY = ("sub", "rsub", "add", "mul", "div")


class EveryPairCompared(Diagnosis):
    """Two operands with the same number of values were broadcast to all pairs of them."""

    left: Shape
    right: Shape
    result: Shape
    at: SourceSpan | None
    left_made_at: SourceSpan | None
    right_made_at: SourceSpan | None
    message = (
        "shapes {shapes[0]} and {shapes[1]} broadcast to {shapes[2]}: "
        "every sample is paired with every other"
    )
    advice = "give both the same shape: `.squeeze(1)` on one or `.unsqueeze(1)` on the other"

    @property
    def shapes(self) -> list[str]:
        """Return the shapes as tuples, as in the documentation of broadcasting."""
        return [str(tuple(shape)) for shape in (self.left, self.right, self.result)]

    def evidence(self) -> Iterator[Evidence]:
        left, right, result = map(elements, (self.left, self.right, self.result))
        yield Evidence(f"{left} values and {right} values form {result} pairs", location=self.at)
        producers = (self.left_made_at, self.right_made_at)
        for shape, place in zip(self.shapes, producers, strict=False):
            if place is not None and place != self.at:
                made = expression_of(place, "an operation")
                claim = f"the operand of shape {shape} comes from {made}"
                yield Evidence(claim, location=place)


class ColumnsOfAllRows(Diagnosis):
    """An index with one column per sample was applied to all samples, and the result compared with one value each."""

    what: str
    rows: int
    columns: int
    loss_at: SourceSpan | None
    message = (
        "{what} takes the columns of all {rows} samples from every row: it has shape ({rows}, {rows}), "
        "and the loss compares each sample with the values of all"
    )
    advice = "take one column per row: `values.gather(1, index.unsqueeze(1)).squeeze(1)`"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"shape ({self.rows}, {self.columns}), indexed by {self.rows} numbers along dimension 1, gives "
            f"({self.rows}, {self.rows})"
        )
        yield Evidence(
            f"it meets a tensor of shape ({self.rows},) here, one value per sample",
            location=self.loss_at,
        )


class BroadcastInLoss(Detector):
    """Shapes (n, 1) and (n,) met in a loss and broadcast to (n, n)."""

    name = "broadcast-in-loss"
    question = LOSS_FITS
    every_observation = True
    settled = (EveryPairCompared,)

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        seen = set()
        for operation in graph.operations(*BINARY, *ERRORS):
            if len(operation.input_shapes) < 2 or operation.location in seen:
                continue
            if graph.misses(operation):
                continue
            left, right = graph.shape_given(operation, 0), graph.shape_given(operation, 1)
            result = broadcast_to_pairs(left, right)
            if result is None or not _is_mistake(graph, operation, result):
                continue
            seen.add(operation.location)
            left_made, right_made = graph.giver(operation, 0), graph.giver(operation, 1)
            diagnosis = EveryPairCompared(
                left=left,
                right=right,
                result=result,
                at=operation.location,
                left_made_at=left_made.location if left_made is not None else None,
                right_made_at=right_made.location if right_made is not None else None,
            )
            yield self.found(
                trace, diagnosis, severity="error", step=operation.step, location=operation.location
            )
        yield from self._columns(trace, graph)

    def _columns(self, trace: Trace, graph: ForwardGraph) -> Iterator[Finding]:
        """Yield an index along the wrong dimension whose result a loss compares with one value per sample."""
        for operation in graph.operations("sub", *ERRORS):
            for place, index in enumerate(graph.sources(operation)[:2]):
                if index is None or not _takes_columns_of_all(index) or not graph.trains(index):
                    continue
                rows, columns = index.input_shapes[0]
                if operation.input_shapes[1 - place : 2 - place] != [[rows]]:
                    continue
                diagnosis = ColumnsOfAllRows(
                    what=expression_of(index.location, "an index"),
                    rows=rows,
                    columns=columns,
                    loss_at=operation.location,
                )
                yield self.found(
                    trace, diagnosis, severity="error", step=index.step, location=index.location
                )
                return

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case EveryPairCompared(left=left, right=right):
                yield from modules.same_shape(finding.location, source, left=left, right=right)


def _takes_columns_of_all(index: GraphOperation) -> bool:
    """Tell whether an operation takes n columns, with repeats, from each of n rows."""
    if base_of(index) not in ("index", "index_select") or len(index.input_shapes) != 2:
        return False
    given, columns = index.input_shapes
    is_table = len(given) == 2 and given[1] < given[0] and columns == [given[0]]
    return is_table and index.shape == [given[0], given[0]]


def broadcast_to_pairs(left: list[int], right: list[int]) -> list[int] | None:
    """Return the shape that two operands broadcast to, if both have n values and the result has more."""
    if len(left) == len(right) or elements(left) != elements(right) or elements(left) < 2:
        return None
    if [n for n in left if n != 1] != [n for n in right if n != 1]:
        return None
    width = max(len(left), len(right))
    padded = [[1] * (width - len(shape)) + shape for shape in (left, right)]
    result = [max(pair) for pair in zip(*padded, strict=True)]
    return result if elements(result) > elements(left) else None


def _is_mistake(graph: ForwardGraph, operation: GraphOperation, result: list[int]) -> bool:
    """Tell whether the loss averages the pairs, and the program did not ask for them."""
    if base_of(operation) in ERRORS:
        return graph.operand_trains(operation, 0) or graph.operand_trains(operation, 1)
    if _is_on_purpose(graph, operation):
        return False
    trains = [graph.operand_trains(operation, position) for position in (0, 1)]
    allowed = (
        ELEMENTWISE | {"exp"} if base_of(operation) == "sub" and sum(trains) == 1 else ELEMENTWISE
    )

    def harmless(consumer: GraphOperation) -> bool:
        if (
            base_of(consumer) in ("sum", "mean")
            and consumer.shape
            and consumer.input_shapes[:1] == [result]
        ):
            return sum(trains) == 1 and base_of(operation) in ("sub", "rsub")
        if base_of(consumer) == "exp" and operation.order not in consumer.inputs:
            return False
        others = [
            source
            for position, source in enumerate(graph.sources(consumer))
            if source is not None and graph.shape_given(consumer, position) == result
        ]
        return all(graph.descends_from(source, operation) for source in others)

    return graph.goes_to_loss(operation, allowed, harmless)


def _is_on_purpose(graph: ForwardGraph, operation: GraphOperation) -> bool:
    """Tell whether the same line adds the axis, or a tensor is compared with itself."""
    sources = graph.sources(operation)[:2]
    if len(sources) == 2 and sources[0] is not None and sources[0] is sources[1]:
        return True
    line = operation.location.line if operation.location else None
    for position in (0, 1):
        view = graph.view(operation, position)
        if (
            view is not None
            and base_of(view) == "unsqueeze"
            and view.location
            and view.location.line == line
        ):
            return True
    return False
