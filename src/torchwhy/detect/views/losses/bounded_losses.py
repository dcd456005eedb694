"""Losses that cannot be negative: entropies, divergences, and one minus an overlap or a cosine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from torchwhy.detect.views.graph.graph_queries import (
    ForwardGraph,
    base_of,
    elements,
    range_given,
)
from torchwhy.detect.views.losses.cosines import cosine_distances
from torchwhy.detect.views.losses.divergences import divergences
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import GraphOperation
from torchwhy.record.numbers import decode

Formula = Literal[
    "cross entropy",
    "cross entropy with class weights",
    "cross entropy with soft targets",
    "binary cross entropy",
    "written-out binary cross entropy",
    "KL divergence",
    "CTC loss",
    "overlap",
    "cosine",
]

Orders = tuple[int, int]

LABELLED = {"nll_loss_forward", "nll_loss2d_forward"}
BINARY = {"binary_cross_entropy", "binary_cross_entropy_with_logits"}
REDUCTIONS = {"mean", "sum"}
SCALED = {"mul", "div"}
COPIES = {"_to_copy", "clone", "alias"}
FORWARD = {
    *REDUCTIONS,
    *SCALED,
    *COPIES,
    "add",
    "neg",
}  # What leaves terms as they are, up to a factor.
SUMMED = {"add", "sub", "mul", "pow", "square", "clamp", "clamp_min", "_to_copy"}  # In a divisor.


@dataclass(frozen=True)
class BoundedLoss:
    """A loss that is at least 0 if its operands are what the formula takes.

    `sign` is with which sign the result of `operation` is the formula: a sum of weighted log-probabilities is the
    negative of a cross entropy. `operand` is the range of what may lie outside its domain, if it was recorded.
    """

    formula: Formula
    operation: GraphOperation
    sign: int = 1
    operand: tuple[float, float] | None = None


def bounded_losses(graph: ForwardGraph) -> Iterator[BoundedLoss]:
    """Yield the losses of the graph that have a lower bound of 0."""
    for loss in graph.operations(*LABELLED):
        weights = range_given(loss, 2)
        kind: Formula = "cross entropy" if weights is None else "cross entropy with class weights"
        yield BoundedLoss(kind, loss, operand=weights)
    for loss in graph.operations(*BINARY):
        if len(loss.input_shapes) == 2 or _are_positive(range_given(loss, 2)):
            yield BoundedLoss("binary cross entropy", loss, operand=range_given(loss, 1))
    for loss in graph.operations("_ctc_loss"):
        yield BoundedLoss("CTC loss", loss)
    for made, difference in divergences(graph):
        if base_of(made) not in ("gather", "index", "index_select"):  # A part of a distribution.
            yield BoundedLoss("KL divergence", difference)
    yield from _soft_cross_entropies(graph)
    yield from _written_out(graph)
    yield from _overlaps(graph)
    for difference in cosine_distances(graph):
        yield BoundedLoss("cosine", difference, operand=range_given(difference))


def is_whole_loss(graph: ForwardGraph, bounded: BoundedLoss) -> bool:
    """Tell whether the loss of the step is this formula, up to a mean or sum and a positive factor."""
    look = bounded.operation.look
    roots = [graph.operation(one.order) for one in graph.losses if one.look == look]
    return len(roots) == 1 and _sign_to(graph, roots[0], bounded.operation) == bounded.sign


def reaches_loss(graph: ForwardGraph, bounded: BoundedLoss) -> bool:
    """Tell whether all terms of a formula enter a loss as they are: not masked, weighted or chosen among."""
    return graph.goes_to_loss(
        bounded.operation,
        FORWARD,
        on_way=lambda one: base_of(one) not in SCALED or len(one.input_shapes) == 1,
    )


def _sign_to(graph: ForwardGraph, root: GraphOperation | None, wanted: GraphOperation) -> int:
    """Return the sign with which a result is the whole loss, 0 if it is not."""
    sign = 1
    while root is not None and root.order != wanted.order:
        base = base_of(root)
        if base == "neg":
            sign = -sign
        elif base in SCALED and len(root.input_shapes) == 1:
            factor = root.scalars.get("1")
            if isinstance(factor, (int, float)) and decode(factor) < 0:
                sign = -sign
        elif base not in REDUCTIONS | COPIES and not _is_inside(root, wanted):
            return 0
        root = graph.source(root)
    return sign if root is not None else 0


def _is_inside(quotient: GraphOperation, loss: GraphOperation) -> bool:
    """Tell whether torch divides a loss by lengths within its own function."""
    return (
        base_of(quotient) == "div"
        and quotient.issuer == loss.issuer == "torch"
        and quotient.location == loss.location
    )


def _are_positive(given: tuple[float, float] | None) -> bool:
    """Tell whether weights are all above 0: a weight of 0 masks an entry, one below 0 is a policy's advantage."""
    return given is not None and given[0] > 0


def _soft_cross_entropies(graph: ForwardGraph) -> Iterator[BoundedLoss]:
    """Yield the products of log-probabilities with their targets inside torch's own cross entropy.

    A policy gradient that the program writes out weights them with advantages, which may be negative.
    """
    for product in graph.operations("mul"):
        if product.issuer != "torch" or len(product.input_shapes) != 2:
            continue
        for place, made in enumerate(graph.sources(product)):
            if (
                made is not None
                and base_of(made) == "_log_softmax"
                and made.issuer == "torch"
                and made.location == product.location
                and not _is_of_chosen_classes(product, 1 - place)
            ):
                targets = range_given(product, 1 - place)
                yield BoundedLoss(
                    "cross entropy with soft targets", product, sign=-1, operand=targets
                )


def _is_of_chosen_classes(product: GraphOperation, place: int) -> bool:
    """Tell whether a target has at most one class per row, as the advantage of the chosen action."""
    if place >= len(product.facts) or not product.shape:
        return True
    facts = product.facts[place]
    rows = elements(facts.shape) // max(1, product.shape[1 if len(product.shape) > 1 else 0])
    return facts.zeros >= elements(facts.shape) - rows


def _written_out(graph: ForwardGraph) -> Iterator[BoundedLoss]:
    """Yield the sums `t * log(p) + (1 - t) * log(1 - p)`."""
    for total in graph.operations("add"):
        terms = [
            term
            for one in graph.sources(total)
            if (term := _weighted_logarithm(graph, one)) is not None
        ]
        if len(terms) != 2:
            continue
        (t, p), (other_t, other_p) = terms
        if _are_complements(graph, t, other_t) and _are_complements(graph, p, other_p):
            yield BoundedLoss("written-out binary cross entropy", total, sign=-1)


def _weighted_logarithm(graph: ForwardGraph, product: GraphOperation | None) -> Orders | None:
    """Return the orders of t and p in `t * log(p)`."""
    if product is None or base_of(product) != "mul" or len(product.inputs) != 2:
        return None
    for place, made in enumerate(graph.sources(product)):
        if made is not None and base_of(made) == "log":
            return product.inputs[1 - place], made.inputs[0]
    return None


def _are_complements(graph: ForwardGraph, first: int, second: int) -> bool:
    """Tell whether one of two values is 1 minus the other."""
    return any(
        (made := graph.operation(whole)) is not None and _is_one_minus(made) and rest in made.inputs
        for whole, rest in ((first, second), (second, first))
    )


def _is_one_minus(operation: GraphOperation) -> bool:
    return base_of(operation) == "rsub" and operation.scalars.get("1") == 1


def _overlaps(graph: ForwardGraph) -> Iterator[BoundedLoss]:
    """Yield the differences between 1 and an overlap of two tensors: a Dice coefficient, or one over the union."""
    for difference in graph.operations("rsub"):
        quotient = _behind(graph, graph.source(difference), {*REDUCTIONS, *COPIES})
        if not _is_one_minus(difference) or quotient is None:
            continue
        if overlap_factors(graph, quotient) is not None:
            yield BoundedLoss("overlap", difference, operand=range_given(difference))


def overlap_factors(graph: ForwardGraph, quotient: GraphOperation) -> GraphOperation | None:
    """Return the product of the two masks whose overlap a quotient is."""
    if base_of(quotient) != "div" or len(quotient.inputs) != 2:
        return None
    above, below = graph.sources(quotient)
    shared = _behind(graph, above, {"mul", "add", *COPIES})
    product = graph.source(shared) if shared is not None and base_of(shared) == "sum" else None
    if product is None or below is None or base_of(product) != "mul" or len(product.inputs) != 2:
        return None
    return product if set(product.inputs) <= set(_summed(graph, below)) else None


def _behind(
    graph: ForwardGraph, operation: GraphOperation | None, passed: set[str]
) -> GraphOperation | None:
    """Return the first operation before one that has other tensors as operands, or another kind."""
    while (
        operation is not None
        and base_of(operation) in passed
        and len(operation.input_shapes) == 1
        and operation.inputs
    ):
        operation = graph.source(operation)
    return operation


def _summed(graph: ForwardGraph, divisor: GraphOperation) -> Iterator[int]:
    """Yield the orders of what is summed in a divisor."""
    queue = [divisor]
    while queue:
        current = queue.pop()
        if base_of(current) == "sum":
            yield from current.inputs
        if base_of(current) in SUMMED:
            queue += [made for made in graph.sources(current) if made is not None]
