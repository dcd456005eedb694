"""Kullback–Leibler divergences in the forward graph; torch computes `kl_div` from elementary operations."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of
from torchwhy.record.learning import GraphOperation


def divergences(graph: ForwardGraph) -> Iterator[tuple[GraphOperation, GraphOperation]]:
    """Yield the operation that made the input of each `kl_div`, and the difference that subtracts that input.

    The difference is `xlogy(target, target) - target * input`, or with `log_target=True` the parenthesis in
    `exp(target) * (target - input)`.
    """
    for difference in graph.operations("sub"):
        sources = graph.sources(difference)
        if len(sources) != 2:
            continue
        entropy, subtracted = sources
        if entropy is not None and subtracted is not None and base_of(entropy) == "xlogy":
            made = _factor(graph, difference, entropy=entropy, product=subtracted)
        else:
            made = subtracted if _is_weighted(graph, difference) else None
        if made is not None:
            yield made, difference


def _factor(
    graph: ForwardGraph,
    difference: GraphOperation,
    *,
    entropy: GraphOperation,
    product: GraphOperation,
) -> GraphOperation | None:
    """Return the operation that made the factor of a product that is not the target."""
    targets = set(entropy.inputs)
    if base_of(product) != "mul" or len(targets) > 1 or difference.location != product.location:
        return None
    others = [place for place, order in enumerate(product.inputs) if order not in targets]
    return graph.source(product, others[0]) if len(others) == 1 else None


def _is_weighted(graph: ForwardGraph, difference: GraphOperation) -> bool:
    """Tell whether a difference is multiplied by the exponential of its first operand, in the same expression."""
    weights = [
        graph.source(consumer, place)
        for consumer in graph.consumers_of(difference)
        if base_of(consumer) == "mul" and consumer.location == difference.location
        for place in range(len(consumer.inputs))
    ]
    return difference.inputs[0] != -1 and any(
        one is not None and base_of(one) == "exp" and one.inputs[:1] == difference.inputs[:1]
        for one in weights
    )
