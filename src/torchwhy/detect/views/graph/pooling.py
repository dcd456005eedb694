"""Weighted sums over the steps of a sequence: which operation sums, and over which dimension."""

from __future__ import annotations

from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of, elements
from torchwhy.record.learning import GraphOperation


def sum_over_steps(
    graph: ForwardGraph, weights: GraphOperation, consumers: list[GraphOperation]
) -> GraphOperation | None:
    """Return the operation that sums values over dimension 1 with weights (rows, steps), row by row.

    None if there is none, or if rows and steps have the same size and cannot be told apart.
    """
    shape = weights.shape
    if len(shape) < 2 or elements(shape) != shape[0] * shape[1]:
        return None
    rows, steps = shape[:2]
    if min(rows, steps) < 2 or rows == steps:
        return None
    # `_has_values` excludes the weights of several heads: their values have shape (rows, 1, features).
    products = [one for one in consumers if base_of(one) == "mul" and _has_values(one, weights)]
    sums = [
        after for one in products for after in graph.consumers_of(one) if base_of(after) == "sum"
    ]
    found = [one for one in consumers if _multiplies(one, rows, steps)]
    found += [one for one in sums if _loses_second(one, rows, steps)]
    return found[0] if found else None


def _has_values(product: GraphOperation, weights: GraphOperation) -> bool:
    """Tell whether the weights are multiplied with separate values for each row and step."""
    return any(
        given[:2] == weights.shape[:2] and elements(given) > elements(weights.shape)
        for given in product.input_shapes
    )


def _multiplies(product: GraphOperation, rows: int, steps: int) -> bool:
    """Tell whether a matrix product sums weights (rows, steps) over the steps, row by row."""
    return base_of(product) == "bmm" and (
        product.input_shapes[0] == [rows, 1, steps] or product.input_shapes[1] == [rows, steps, 1]
    )


def _loses_second(total: GraphOperation, rows: int, steps: int) -> bool:
    """Tell whether a sum runs over the second of three dimensions (rows, steps, features)."""
    given = total.input_shapes[0]
    kept = [size for size in total.shape if size != 1]
    return given[:2] == [rows, steps] and len(given) > 2 and kept == [rows, *given[2:]]
