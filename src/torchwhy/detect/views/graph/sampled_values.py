"""Values sampled around a network's output without a gradient and fed to a network: `sample` instead of `rsample`."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.views.graph.graph_queries import ERRORS, ForwardGraph, base_of
from torchwhy.record.learning import GraphOperation

COMPARED = ("sub", "rsub", *ERRORS)


def draws_without_derivative(graph: ForwardGraph) -> Iterator[GraphOperation]:
    """Yield the draws that cut the gradient to their mean and spread, although a network uses them.

    Three cases are excluded, because the mean learns another way: the program uses the log-probability of the draw
    (policies), it compares the mean with data (a forecast fed back), or the layer that computes the mean also feeds
    a network with a gradient (a critic learns from draws, its actor through `rsample`).
    """
    for draw in graph.operations("normal"):
        if not any(draw.tracked[:1]) or not _feeds_a_network(graph, draw):
            continue
        mean = draw.inputs[0] if draw.inputs else -1
        if any(_learns_otherwise(graph, one, draw=draw, mean=mean) for one in _compared(graph)):
            continue
        if not any(
            _feeds_a_network(graph, one, derived=True) for one in _calls_of_layer(graph, draw)
        ):
            yield draw


def _compared(graph: ForwardGraph) -> list[GraphOperation]:
    return list(graph.operations(*COMPARED))


def _calls_of_layer(graph: ForwardGraph, draw: GraphOperation) -> list[GraphOperation]:
    """Return the operations of the layer that computed the mean of a draw, in all its calls."""
    mean = graph.operation(draw.inputs[0]) if draw.inputs else None
    layers = (one for one in graph.ancestors(mean) if one.parameters) if mean is not None else ()
    layer = next(iter(layers), None)
    if layer is None:
        return []
    return [one for one in graph.operations() if one.parameters == layer.parameters]


def _feeds_a_network(graph: ForwardGraph, made: GraphOperation, *, derived: bool = False) -> bool:
    """Tell whether a layer with weights uses a result; with `derived`, only along differentiable operations."""
    queue, seen = [made], {made.order}
    while queue:
        for consumer in graph.consumers.get(queue.pop().order, []):
            if derived and (base_of(consumer) == "normal" or not consumer.differentiable):
                continue
            if consumer.differentiable and consumer.parameters:
                return True
            if consumer.order not in seen:
                seen.add(consumer.order)
                queue.append(consumer)
    return False


def _learns_otherwise(
    graph: ForwardGraph, comparison: GraphOperation, *, draw: GraphOperation, mean: int
) -> bool:
    """Tell whether a comparison with the draw or with data trains the mean; a constant, such as a prior, does not."""
    sources = graph.sources(comparison)
    made = [one.order if one is not None else -1 for one in sources]
    means = [place for place, order in enumerate(made) if order == mean and mean >= 0]
    if not means and not (mean < 0 and set(draw.parameters) & set(comparison.parameters)):
        return False
    if draw.order in made:
        return True
    others = [place for place in range(len(made)) if place not in means]
    return any(
        not comparison.tracked[place] and _varies(comparison, place)
        for place in others
        if place < len(comparison.tracked)
    )


def _varies(comparison: GraphOperation, place: int) -> bool:
    facts = comparison.facts[place] if place < len(comparison.facts) else None
    return facts is None or facts.minimum != facts.maximum
