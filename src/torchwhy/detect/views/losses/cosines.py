"""One minus a cosine in the forward graph: a sum of products of which at least one factor is divided by its norm."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of
from torchwhy.record.learning import GraphOperation

NORMS = {"linalg_vector_norm", "norm"}
PASSED = {"mean", "sum", "clone", "alias", "_to_copy", "squeeze", "unsqueeze", "view", "expand"}
IN_DIVISOR = {"mul", "clamp", "clamp_min", "add", "maximum", *PASSED}


def cosine_distances(graph: ForwardGraph) -> Iterator[GraphOperation]:
    """Yield the differences between 1 and a sum of products that is, or is meant to be, a cosine."""
    for difference in graph.operations("rsub"):
        if difference.scalars.get("1") == 1 and _is_cosine(graph, graph.source(difference)):
            yield difference


def cosine_factors(graph: ForwardGraph, made: GraphOperation) -> GraphOperation | None:
    """Return the product of the two vectors whose cosine an operation gives; None if one of them is not normalised."""
    if base_of(made) == "div" and len(made.inputs) == 2:
        above, below = graph.source(made), graph.source(made, 1)
        if above is None or below is None or not _is_of_products(graph, above):
            return None
        return graph.source(above) if _norms_in(graph, below) > 1 else None
    product = graph.source(made) if _is_of_products(graph, made) else None
    if product is None:
        return None
    both = [one is not None and _is_normalised(graph, one) for one in graph.sources(product)]
    return product if all(both) else None


def _norms_in(graph: ForwardGraph, divisor: GraphOperation) -> int:
    """Return how many norms a divisor is the product of."""
    queue, found = [divisor], set()
    while queue:
        current = queue.pop()
        if base_of(current) in NORMS:
            found.add(current.order)
        elif base_of(current) in IN_DIVISOR:
            queue += [made for made in graph.sources(current) if made is not None]
    return len(found)


def _is_cosine(graph: ForwardGraph, made: GraphOperation | None) -> bool:
    """Tell whether products are summed over one axis, and vectors of them divided by their norms before or after."""
    while made is not None and base_of(made) in PASSED and not _is_of_products(graph, made):
        made = graph.source(made)
    if made is None:
        return False
    if base_of(made) == "div":
        above, below = graph.source(made), graph.source(made, 1)
        summed = above is not None and _is_of_products(graph, above)
        return summed and below is not None and _is_norm(graph, below)
    product = graph.source(made)
    return product is not None and any(
        one is not None and _is_normalised(graph, one) for one in graph.sources(product)
    )


def _is_of_products(graph: ForwardGraph, operation: GraphOperation) -> bool:
    """Tell whether an operation sums products over one axis."""
    if base_of(operation) != "sum" or len(operation.shape) >= len(operation.input_shapes[0]):
        return False
    product = graph.source(operation)
    two = product is not None and base_of(product) == "mul" and len(product.input_shapes) == 2
    return two and len(operation.shape) == len(operation.input_shapes[0]) - 1


def _is_normalised(graph: ForwardGraph, operation: GraphOperation) -> bool:
    """Tell whether a tensor is divided by its own norm."""
    if base_of(operation) != "div" or len(operation.inputs) != 2:
        return False
    below = graph.source(operation, 1)
    return below is not None and _is_norm(graph, below)


def _is_norm(graph: ForwardGraph, divisor: GraphOperation) -> bool:
    """Tell whether a divisor is a norm, or a product of norms, bounded from below or not."""
    return _norms_in(graph, divisor) > 0
