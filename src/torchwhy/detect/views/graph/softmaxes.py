"""Softmaxes in the forward graph: which layer feeds them, what uses their result, whether they run over samples."""

from __future__ import annotations

from torchwhy.detect.views.graph.graph_queries import (
    ELEMENTWISE,
    ForwardGraph,
    axis_of,
    base_of,
    elements,
)
from torchwhy.record.learning import GraphOperation, ModelOutput
from torchwhy.record.trace import Trace

SOFTMAXES = ("_softmax", "_log_softmax", "_safe_softmax")
# Losses and selections that treat every row separately.
PER_SAMPLE = {
    "nll_loss_forward", "nll_loss2d_forward", "mse_loss", "l1_loss", "binary_cross_entropy", "_log_softmax", "gather",
    "index", "log",
}  # fmt: skip
OF_A_CHOICE = {"gather", "index", "log"}
COMPARED = {"mse_loss", "l1_loss", "binary_cross_entropy"}
PRODUCTS = {"mm", "bmm", "mv", "dot", "mul", "addmm", "baddbmm"}


def layer_of_one_output(graph: ForwardGraph, softmax: GraphOperation) -> GraphOperation | None:
    """Return the layer with a single output over which a softmax runs, here and in all its calls."""
    axis, shape, layer = axis_of(softmax), softmax.shape, graph.source(softmax)
    if axis is None or layer is None or shape[axis] != 1 or elements(shape) < 2:
        return None
    is_output = axis == len(shape) - 1 or (len(shape) == 4 and axis == 1)
    # Over the rows of one sample, the classes are each alone. As a factor, they weigh a bag of one instance.
    weighs = any(base_of(one) in PRODUCTS for one in graph.consumers_of(softmax))
    is_output = is_output or (len(shape) == 2 and not weighs)
    is_longer_elsewhere = any(
        other.location == softmax.location and other.shape[axis : axis + 1] != [1]
        for other in graph.operations(*SOFTMAXES)
    )
    is_meant = is_longer_elsewhere or _weighs_one_part(graph, softmax)
    return layer if is_output and layer.parameters and not is_meant else None


def _weighs_one_part(graph: ForwardGraph, softmax: GraphOperation) -> bool:
    """Tell whether the result weighs outputs that are then summed over the same dimension: a mixture of one part."""
    waiting, seen = [(softmax, False)], set()
    while waiting:
        current, has_joined = waiting.pop()
        if (current.order, has_joined) in seen:
            continue
        seen.add((current.order, has_joined))
        for one in graph.consumers_of(current):
            base, axes = base_of(one), one.scalars.get("1")
            others = [
                made
                for made in graph.sources(one)
                if made is not None and made.order != current.order
            ]
            joins = has_joined or any(map(graph.trains, others))
            if base in ("mm", "bmm") and joins and one.input_shapes[0][-1] == 1:
                return True
            if base in ("sum", "logsumexp") and has_joined and isinstance(axes, list):
                if axes and all(one.input_shapes[0][int(axis)] == 1 for axis in axes):
                    return True
            elif base in ELEMENTWISE | {"exp"} and base not in ("sum", "mean"):
                waiting.append((one, joins))
    return False


def judge_of_rows(graph: ForwardGraph, softmax: GraphOperation) -> GraphOperation | None:
    """Return the operation that treats the rows separately after a softmax over dimension 0 of a layer's output."""
    layer, shape = graph.source(softmax), softmax.shape
    if axis_of(softmax) != 0 or len(shape) < 2 or shape[0] < 2:
        return None
    if layer is None or not layer.parameters:
        return None
    # In a single column the rows may be candidates, of which the program picks one or takes its likelihood. Only a
    # loss with a target for every row shows that they are samples.
    judges = PER_SAMPLE - OF_A_CHOICE if elements(shape) == shape[0] else PER_SAMPLE
    return next(
        (
            one
            for one in graph.consumers_of(softmax)
            if base_of(one) in judges and _is_by_row(one, shape)
        ),
        None,
    )


def _is_by_row(judge: GraphOperation, shape: list[int]) -> bool:
    """Tell whether an operation needs the rows to be samples.

    It does not if it picks from fewer rows than there are, or if its targets may be distributions over the rows.
    """
    rows, base = shape[0], base_of(judge)
    if base == "gather":
        return judge.scalars.get("1") != 0 and judge.shape[:1] == [rows]
    if base == "index":
        return judge.shape[:1] == [rows]
    if base not in COMPARED or len(judge.facts) < 2:
        return True
    target = judge.facts[1]
    low, high = target.minimum, target.maximum
    is_inside = low is not None and high is not None and low > 0 and high < 1
    return not is_inside and target.zeros != elements(shape) - elements(shape[1:])


def is_over_samples(trace: Trace, softmax: GraphOperation) -> bool:
    """Tell whether a softmax runs over dimension 0, and its size is the batch size."""
    rows = {output.rows for output in trace.of(ModelOutput)}
    return axis_of(softmax) == 0 and softmax.shape[0] in rows


def is_of_sequences(trace: Trace, shape: list[int]) -> bool:
    """Tell whether the model's input is (samples, steps, features) and a shape begins with (samples, steps)."""
    given = next((o.given for o in trace.of(ModelOutput) if o.step == 0 and o.given), None)
    return given is not None and len(given.shape) > 2 and list(given.shape[:2]) == shape[:2]
