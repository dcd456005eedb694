"""Whether the loss of a step is an error as a whole, and with which sign."""

from __future__ import annotations

from torchwhy.detect.views.graph.graph_queries import ERRORS, ForwardGraph, base_of
from torchwhy.record.learning import GraphOperation
from torchwhy.record.numbers import decode

LABELLED = {"nll_loss_forward", "nll_loss2d_forward", "cross_entropy_loss"}
DEVIATIONS = {"pow", "square", "abs"}  # Their mean or sum is an error by hand.
PASSED_ON = {"mul", "div", "_to_copy", "clone"}


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


def _is_error_by_hand(graph: ForwardGraph, operation: GraphOperation) -> bool:
    """Tell whether an operation averages or adds up the squares or sizes of differences."""
    made = graph.source(operation) if base_of(operation) in ("mean", "sum") else None
    if made is None or base_of(made) not in DEVIATIONS:
        return False
    if base_of(made) == "pow" and made.scalars.get("1") != 2:
        return False
    difference = graph.source(made)
    return difference is not None and base_of(difference) in ("sub", "rsub")
