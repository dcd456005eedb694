"""Vectors with one number per sample that meet another dimension than the samples'."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import GraphOperation

JOINS = ("mul", "add", "sub", "div")
DRAWS = {"randint", "rand", "randn", "randint_like", "rand_like", "multinomial", "uniform"}
MOST_OPERATIONS = 200


@dataclass(frozen=True)
class MisplacedVector:
    """A vector made from `drawn`, one number per sample, that `operation` spreads over the last dimension."""

    operation: GraphOperation
    vector: GraphOperation
    drawn: GraphOperation
    rows_at: GraphOperation  # where the same numbers are laid along the samples
    shape: list[int]


def misplaced_vectors(graph: ForwardGraph) -> Iterator[MisplacedVector]:
    """Yield vectors of the batch's size that meet a last dimension of the same size, and elsewhere the first one.

    Only draws of this step count: numbers for columns are not drawn anew in each step and given to the samples, too.
    """
    for operation in graph.operations(*JOINS):
        shapes = operation.input_shapes
        if len(shapes) != 2 or operation.issuer != "user":
            continue
        short = 0 if len(shapes[0]) == 1 else 1
        vector, other = shapes[short], shapes[1 - short]
        if len(vector) != 1 or len(other) < 3 or not vector[0] == other[0] == other[-1] > 1:
            continue
        made = graph.source(operation, short)
        drawn = _drawn(graph, made, vector[0]) if made is not None else None
        rows_at = _along_rows(graph, drawn) if drawn is not None else None
        if made is not None and drawn is not None and rows_at is not None:
            yield MisplacedVector(operation, made, drawn, rows_at, other)


def _drawn(graph: ForwardGraph, made: GraphOperation, size: int) -> GraphOperation | None:
    """Return the draw of `size` numbers that a vector was computed from."""
    for count, above in enumerate(graph.ancestors(made)):
        if count > MOST_OPERATIONS:
            return None
        if base_of(above) in DRAWS and above.shape == [size]:
            return above
    return None


def _along_rows(graph: ForwardGraph, drawn: GraphOperation) -> GraphOperation | None:
    """Return the operation that gives each sample what was drawn for it: a row of an embedding, or a column (n, 1)."""
    size = drawn.shape[0]
    for consumer in graph.consumers_of(drawn):
        if base_of(consumer) == "embedding" and consumer.shape[:1] == [size]:
            return consumer
        for place, order in enumerate(consumer.inputs):
            view = graph.view(consumer, place) if order == drawn.order else None
            if view is not None and len(view.shape) > 1 and view.shape[:2] == [size, 1]:
                return consumer
    return None
