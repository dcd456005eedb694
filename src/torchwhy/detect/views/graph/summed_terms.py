"""The terms that a loss adds up, each with its sign, and the divergences among them."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of
from torchwhy.record.learning import GraphOperation
from torchwhy.record.numbers import decode

REDUCED = {"sum", "mean", "_to_copy", "clone"}
MOST_TERMS = 200
SQUARES = {"pow", "square"}

Term = tuple[int, GraphOperation]


def summed_terms(graph: ForwardGraph, root: GraphOperation) -> list[Term]:
    """Return the sign and the operation of each term, looking through sums, differences, means and factors."""
    found: list[Term] = []
    waiting: list[Term] = [(1, root)]
    while waiting and len(found) < MOST_TERMS:
        sign, operation = waiting.pop()
        parts = list(_parts(graph, sign, operation))
        waiting += parts
        # An operation that has parts is also a term: the logarithm of a variance may be a sum itself.
        found.append((sign, operation))
    return found


def reversed_divergence(graph: ForwardGraph, root: GraphOperation) -> GraphOperation | None:
    """Return the exponential in the divergence of a normal distribution from the standard one that a loss subtracts.

    The divergence is `0.5 * (exp(log_variance) + mean ** 2 - log_variance - 1)`, added up over the dimensions.
    """
    terms = summed_terms(graph, root)
    added = {operation.order for sign, operation in terms if sign > 0}
    has_square = any(sign < 0 and base_of(one) in SQUARES for sign, one in terms)
    for sign, one in terms:
        exponent = one.inputs[0] if base_of(one) == "exp" and one.inputs else -1
        if sign < 0 and has_square and exponent in added and graph.trains(one):
            return one
    return None


def _parts(graph: ForwardGraph, sign: int, operation: GraphOperation) -> Iterator[Term]:
    """Yield the operands that an operation adds up, with their signs."""
    base, sources = base_of(operation), graph.sources(operation)
    factor = operation.scalars.get("1")
    if "alpha" in operation.scalars:
        return
    if base in ("mul", "div"):
        if not isinstance(factor, (int, float)) or len(operation.input_shapes) != 1:
            return
        signs = [sign if decode(factor) > 0 else -sign]
    elif base in ("sub", "rsub"):
        signs = [sign, -sign] if base == "sub" else [-sign, sign]
    elif base in REDUCED or base == "neg":
        signs = [-sign if base == "neg" else sign]
    elif base == "add":
        signs = [sign, sign]
    else:
        return
    for each, source in zip(signs, sources, strict=False):
        if source is not None:
            yield each, source
