"""Reshapes that list the sizes in another order: no value moves, so samples or axes get mixed."""

from __future__ import annotations

from torchwhy.detect.views.graph.graph_queries import ERRORS, ForwardGraph, base_of
from torchwhy.record.learning import GraphOperation

JUDGED = {"mul", "div", "add", "_log_softmax"}  # from similarities to a cross entropy
PADDED = {"constant_pad_nd", "cat"}
FLATTENS = ("view", "_reshape_alias", "reshape")
PAIRED = ("nll_loss_forward", *sorted(ERRORS))  # losses that compare two operands row by row


def swaps_rows(before: list[int], after: list[int], rows: int) -> bool:
    """Tell whether the samples are dimension 1 before and dimension 0 after, or the other way round."""
    if len(before) < 2 or len(after) < 2 or _only_splits_or_joins(before, after):
        return False
    comes = before[0] not in (1, rows) and before[1] == rows and after[0] == rows
    goes = before[0] == rows and after[0] not in (1, rows) and after[1] == rows
    return comes or goes


def _only_splits_or_joins(before: list[int], after: list[int]) -> bool:
    """Tell whether the reshape only joins leading dimensions, or splits the first one.

    A linear layer does this with (batch, time, width); a width equal to the batch size is a coincidence there.
    """
    same = 0
    while same < min(len(before), len(after)) and before[-1 - same] == after[-1 - same]:
        same += 1
    return min(len(before), len(after)) - same <= 1


def swaps_axes(before: list[int], after: list[int]) -> bool:
    """Tell whether the sizes after the first are the same in another order, none of them 1."""
    if len(before) != len(after) or len(before) < 3 or before[0] != after[0] or before == after:
        return False
    return sorted(before) == sorted(after) and 1 not in before[1:]


def swaps_heads(before: list[int], after: list[int]) -> bool:
    """Tell whether (batch, time, width) became (batch, heads, time, part) in one step, or the other way round."""
    if len(before) > len(after):
        before, after = after, before
    if len(before) != 3 or len(after) != 4 or before[0] != after[0]:
        return False
    _, time, width = before
    _, heads, moments, part = after
    return (
        moments == time and heads * part == width and 1 not in (time, heads, part) and heads != time
    )


def skews_padded(graph: ForwardGraph, reshape: GraphOperation) -> bool:
    """Tell whether a tensor was padded just before: the reshape then shifts each row by one more than the last.

    Relative positions of an attention are aligned so.
    """
    made = graph.source(reshape)
    return made is not None and base_of(made) in PADDED


def unfolds_otherwise(before: list[int], after: list[int], rows: int) -> bool:
    """Tell whether (samples · steps, …) became (steps, samples, …), which is right only if they were folded so."""
    return (
        len(after) > 2
        and after[1] == rows
        and after[0] not in (1, rows)
        and before[:1] == [after[0] * rows]
        and before[1:] == after[2:]
    )


def flattened_apart(
    graph: ForwardGraph, loss: GraphOperation
) -> tuple[list[int], list[int]] | None:
    """Return the shapes of predictions and targets that a loss gets flattened, if their first two sizes are swapped.

    None if both sizes are equal: then the order is unknown.
    """
    predicted: GraphOperation | None = loss
    if base_of(loss) == "nll_loss_forward":
        predicted = graph.source(loss)
        if predicted is None or base_of(predicted) != "_log_softmax":
            return None
    if predicted is None or len(loss.inputs) < 2:
        return None
    one, other = _flattened(graph.view(predicted, 0)), _flattened(graph.view(loss, 1))
    if one is None or other is None or one[0] == one[1] or 1 in one[:2]:
        return None
    return (one, other) if one[:2] == other[1::-1] else None


def _flattened(view: GraphOperation | None) -> list[int] | None:
    """Return the shape whose first two sizes a view joins into one."""
    if view is None or base_of(view) not in FLATTENS or not view.input_shapes:
        return None
    before, after = view.input_shapes[0], view.shape
    joins = len(before) > 1 and after[:1] == [before[0] * before[1]]
    return before if joins and after[1:] in (before[2:], []) else None


def rows_of_a_table(graph: ForwardGraph, rows: int) -> GraphOperation | None:
    """Return the sum by which each sample gets a row of a longer table: `x + table[:x.size(0)]`."""
    for total in graph.operations("add"):
        for place, shape in enumerate(total.input_shapes):
            view = graph.view(total, place)
            if total.tracked[place] or view is None or base_of(view) != "slice":
                continue
            is_broadcast = shape[:2] == [rows, 1] and total.shape[:1] == [rows] != total.shape[1:2]
            table = view.input_shapes[0]
            if is_broadcast and view.scalars.get("1") == 0 and table[0] > rows:
                return total
    return None


def _has_data(graph: ForwardGraph, operation: GraphOperation | None) -> bool:
    """Tell whether something else than parameters is behind a result."""
    above = graph.ancestors(operation) if operation is not None else ()
    return any(False in one.tracked for one in above)


def normalised_over_rows(graph: ForwardGraph) -> tuple[GraphOperation, GraphOperation] | None:
    """Return the division by norms over dimension 0 of (rows, features), and the product that then sums the features.

    The product must be judged row by row. One that sums over the rows, as correlations do, needs just that. A product
    with weights is a layer, and what comes into it may be normalised over the rows, as the nodes of a graph are.
    """
    for product in graph.operations("mm"):
        made, rows = graph.source(product), product.input_shapes[0]
        if product.parameters or not _has_data(graph, graph.source(product, 1)):
            continue
        while (
            made is not None and base_of(made) == "mul" and made.shape == rows
        ):  # by a temperature
            whole = [at for at, shape in enumerate(made.input_shapes) if shape == rows]
            made = graph.source(made, whole[0]) if len(whole) == 1 else None
        if made is None or base_of(made) != "div" or made.shape != rows or len(made.inputs) != 2:
            continue
        norm = graph.source(made, 1)
        while norm is not None and base_of(norm) in ("clamp_min", "add", "clamp"):
            norm = graph.source(norm)
        is_norm = norm is not None and base_of(norm) == "linalg_vector_norm"
        if norm is None or not is_norm or norm.scalars.get("2") != [0] or not graph.trains(made):
            continue
        waiting = [product]
        while waiting:
            current = waiting.pop()
            if base_of(current) == "_log_softmax" and current.shape[:1] == rows[:1]:
                return made, product
            waiting += [o for o in graph.consumers_of(current) if base_of(o) in JUDGED]
    return None
