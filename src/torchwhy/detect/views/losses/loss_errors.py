"""What the loss of a step adds up, and with which signs: an error as a whole, or terms."""

from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.views.graph.graph_queries import ERRORS, ForwardGraph, base_of
from torchwhy.record.learning import GraphOperation
from torchwhy.record.numbers import decode

LABELLED = {"nll_loss_forward", "nll_loss2d_forward", "cross_entropy_loss"}
DEVIATIONS = {"pow", "square", "abs"}  # Their mean or sum is an error by hand.
PASSED_ON = {"mul", "div", "_to_copy", "clone"}
REDUCED = {"sum", "mean", "_to_copy", "clone"}
MOST_TERMS = 200
SQUARES = {"pow", "square"}

Term = tuple[int, GraphOperation]


def error_behind(
    graph: ForwardGraph, root: GraphOperation | None
) -> tuple[int, GraphOperation] | None:
    """Return the sign with which an error is the whole loss, and the error; None if the loss is something else."""
    sign = 1
    while root is not None:
        base = base_of(root)
        if base in ERRORS | LABELLED or _is_error_by_hand(graph, root):
            return sign, root
        if base == "neg":
            sign = -sign
        elif base in PASSED_ON and len(root.input_shapes) == 1:
            factor = root.scalars.get("1")
            if isinstance(factor, (int, float)) and decode(factor) < 0:
                sign = -sign
        else:
            return None
        root = graph.source(root)
    return None


def is_of_two_outputs(graph: ForwardGraph, error: GraphOperation) -> bool:
    """Tell whether an error compares two results that both train: how far apart they are may well be enlarged."""
    compared: GraphOperation | None = error
    while compared is not None and base_of(compared) in DEVIATIONS | {"mean", "sum"}:
        compared = graph.source(compared)
    return compared is not None and len(compared.tracked) > 1 and all(compared.tracked[:2])


def _is_error_by_hand(graph: ForwardGraph, operation: GraphOperation) -> bool:
    """Tell whether an operation averages or adds up the squares or sizes of differences."""
    made = graph.source(operation) if base_of(operation) in ("mean", "sum") else None
    if made is None or base_of(made) not in DEVIATIONS:
        return False
    if base_of(made) == "pow" and made.scalars.get("1") != 2:
        return False
    difference = graph.source(made)
    return difference is not None and base_of(difference) in ("sub", "rsub")


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
        if decode(factor) == 0:
            return  # A weight that is still 0 in the first step, as in annealing, has no sign.
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
