"""Differences of a value and the same value computed once more: always 0."""

from __future__ import annotations

from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of, elements
from torchwhy.record.learning import GraphOperation

DIFFERENCES = {"sub", "mse_loss", "smooth_l1_loss", "huber_loss"}
# Functions of their operands alone, with a single result.
DETERMINED = {
    "add", "sub", "mul", "div", "neg", "exp", "log", "pow", "sqrt", "mean", "sum", "relu", "gelu", "silu", "tanh",
    "sigmoid", "_softmax", "_log_softmax", "mm", "bmm", "addmm", "convolution",
}  # fmt: skip
DEEPEST = 8  # operations between a difference and the value that both sides come from


def compared_with_itself(graph: ForwardGraph, term: GraphOperation) -> GraphOperation | None:
    """Return the operation before a term that takes the difference of two equal computations; None if there is none."""
    for operation in graph.ancestors(term):
        if base_of(operation) in DIFFERENCES and len(operation.inputs) == 2:
            one, other = operation.inputs
            is_bare = all(view < 0 for view in operation.views)
            # Single numbers are added and taken away again to show a constant of the loss.
            is_bare &= all(elements(shape) > 1 for shape in operation.input_shapes)
            if is_bare and one != other and _are_same(graph, one, other, DEEPEST):
                return operation
    return None


def _are_same(graph: ForwardGraph, one: int, other: int, depth: int) -> bool:
    """Tell whether two operations compute the same from the same value, without views that choose a part."""
    first, second = graph.operation(one), graph.operation(other)
    if first is None or second is None or not depth or base_of(first) not in DETERMINED:
        return False
    if one == other:
        return True
    if any(view >= 0 for view in (*first.views, *second.views)) or not first.inputs:
        return False
    return (
        (first.op, first.scalars, first.shape) == (second.op, second.scalars, second.shape)
        and len(first.inputs) == len(second.inputs)
        and all(
            _are_same(graph, a, b, depth - 1)
            for a, b in zip(first.inputs, second.inputs, strict=True)
        )
    )
