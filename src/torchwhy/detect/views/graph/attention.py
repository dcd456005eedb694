"""Attention in the forward graph: scores, their softmax, and the product of these weights with the values."""

from __future__ import annotations

from torchwhy.detect.views.graph.graph_queries import ForwardGraph, axis_of, base_of, elements
from torchwhy.record.learning import GraphOperation

# Operations between the attention weights and the product that uses them.
DROPOUTS = {"native_dropout", "mul"}
# Operations on the scores before the softmax.
MASKS = {"mul", "div", "add", "sub", "masked_fill", "where", "tanh", "clamp"}
SWAPS = {"transpose", "permute", "t", "numpy_T", "mT", "movedim", "swapaxes"}


def product_with_values(graph: ForwardGraph, softmax: GraphOperation) -> GraphOperation | None:
    """Return the product that sums over the last dimension of weights whose softmax ran over another dimension.

    The weights are those of an attention, (batch, …, queries, keys), computed from a product of queries and keys.
    """
    axis, shape = axis_of(softmax), softmax.shape
    if axis is None or axis == len(shape) - 1 or len(shape) < 3 or min(shape[axis], shape[-1]) < 2:
        return None
    consumers = consumers_after_dropout(graph, softmax)
    product = next((one for one in consumers if _sums_over_last(graph, one, softmax)), None)
    return product if product is not None and _are_scores(graph, softmax) else None


def consumers_after_dropout(graph: ForwardGraph, weights: GraphOperation) -> list[GraphOperation]:
    """Return the operations that use the attention weights, directly or after a dropout."""
    consumers = graph.consumers_of(weights)
    return consumers + [
        after for one in consumers if base_of(one) in DROPOUTS for after in graph.consumers_of(one)
    ]


def _sums_over_last(graph: ForwardGraph, product: GraphOperation, softmax: GraphOperation) -> bool:
    """Tell whether a product takes the softmax as its left operand, with no dimension swapped on the way."""
    shape = softmax.shape
    if base_of(product) != "bmm" or product.input_shapes[0] != [elements(shape[:-2]), *shape[-2:]]:
        return False
    current: GraphOperation | None = product
    while current is not None and current.order != softmax.order:
        view = graph.view(current, 0)
        while view is not None:
            if base_of(view) in SWAPS:
                return False
            view = graph.view(view, 0)
        current = graph.operation(current.inputs[0]) if current.inputs else None
    return current is not None


def _are_scores(graph: ForwardGraph, softmax: GraphOperation) -> bool:
    """Tell whether the input of a softmax is a product of tensors, possibly scaled and masked."""
    current = graph.source(softmax)
    while current is not None and base_of(current) in MASKS:
        before = [made for made in graph.sources(current) if made is not None]
        current = next((made for made in before if made.differentiable), None)
    return current is not None and base_of(current) == "bmm"
