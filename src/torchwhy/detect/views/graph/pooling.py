"""Weighted sums over the steps of a sequence: which operation takes the sum, and along which dimension?"""

from __future__ import annotations

from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of, elements
from torchwhy.record.learning import GraphOperation


def sum_over_steps(
    graph: ForwardGraph, weights: GraphOperation, taken: list[GraphOperation]
) -> GraphOperation | None:
    """Return what sums values over dimension 1 with weights (rows, steps), row by row; None where nothing does.

    Sizes must differ to tell the dimensions apart.
    """
    shape = weights.shape
    if len(shape) < 2 or elements(shape) != shape[0] * shape[1]:
        return None
    rows, steps = shape[:2]
    if min(rows, steps) < 2 or rows == steps:
        return None
    # Weights of several heads meet values of shape (rows, 1, features), and their sum is one over heads.
    products = [one for one in taken if base_of(one) == "mul" and _has_values(one, weights)]
    sums = [after for one in products for after in graph.taken_by(one) if base_of(after) == "sum"]
    found = [one for one in taken if _multiplies(one, rows, steps)]
    found += [one for one in sums if _loses_second(one, rows, steps)]
    return found[0] if found else None


def _has_values(product: GraphOperation, weights: GraphOperation) -> bool:
    """Tell whether weights are multiplied with values of their own for each row and step."""
    return any(
        given[:2] == weights.shape[:2] and elements(given) > elements(weights.shape)
        for given in product.input_shapes
    )


def _multiplies(product: GraphOperation, rows: int, steps: int) -> bool:
    """Tell whether a product of matrices sums weights (rows, steps) over the steps, row by row."""
    return base_of(product) == "bmm" and (
        product.input_shapes[0] == [rows, 1, steps] or product.input_shapes[1] == [rows, steps, 1]
    )


def _loses_second(total: GraphOperation, rows: int, steps: int) -> bool:
    """Tell whether a sum goes over the second of three dimensions (rows, steps, features)."""
    given = total.input_shapes[0]
    kept = [size for size in total.shape if size != 1]
    return given[:2] == [rows, steps] and len(given) > 2 and kept == [rows, *given[2:]]
