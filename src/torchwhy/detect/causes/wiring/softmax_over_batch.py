from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.models import modules
from torchwhy.detect.views.graph.changed_sample import samples_answer
from torchwhy.detect.views.graph.graph_queries import (
    ForwardGraph,
    axis_of,
    base_of,
    elements,
    expression_of,
)
from torchwhy.detect.views.graph.pooling import sum_over_steps
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import GraphOperation, ModelOutput
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

SOFTMAXES = ("_softmax", "_log_softmax", "_safe_softmax")
# Losses and selections that look at every row by itself.
PER_SAMPLE = {
    "nll_loss_forward", "nll_loss2d_forward", "mse_loss", "l1_loss", "binary_cross_entropy", "_log_softmax", "gather",
    "index", "log",
}  # fmt: skip
OF_A_CHOICE = {"gather", "index", "log"}
# What may stand between the weights of an attention and the product that uses them.
DROPOUTS = {"native_dropout", "mul"}
# What is done to its scores before the softmax.
MASKS = {"mul", "div", "add", "sub", "masked_fill", "where", "tanh", "clamp"}
SWAPS = {"transpose", "permute", "t", "numpy_T", "mT", "movedim", "swapaxes"}


class SoftmaxOverBatch(Detector):
    """A softmax runs over the samples of the batch, or over a dimension of size one."""

    name = "softmax-over-batch"
    needs = frozenset({"graph", "experiment"})
    every_phase = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        graph = ForwardGraph(trace)
        seen = set()
        for softmax in graph.operations(*SOFTMAXES):
            if softmax.location in seen or not graph.trains(softmax):
                continue
            plain = _of_one(graph, softmax) or _of_rows(graph, softmax)
            weights = _of_attention(graph, softmax) or _of_pooling(graph, softmax)
            told = plain or weights or _of_samples(trace, softmax)
            if told is None:
                continue
            seen.add(softmax.location)
            message, facts = told
            is_weights = plain is None and weights is not None
            yield Finding(
                detector=self.name,
                severity="note" if is_weights and not _is_over_samples(trace, softmax) else "error",
                message=message,
                step=0,
                rank=trace.rank,
                location=softmax.made_at or softmax.location,
                evidence=facts,
                fixes=(
                    Fix(
                        "let it run over what the sum after it runs over, in an attention the keys: `dim=-1`"
                        if is_weights
                        else "let it run over the classes: `dim=-1`, or `dim=1` for (batch, class, …)",
                        safety="show-only",
                    ),
                ),
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from modules.sigmoid_for_one(finding, source)
        yield from modules.other_dimension(finding, source)


Told = tuple[str, tuple[Evidence, ...]]


def _of_one(graph: ForwardGraph, softmax: GraphOperation) -> Told | None:
    """Judge a softmax over a single element, made by a layer with one output."""
    axis, shape = axis_of(softmax), softmax.shape
    source = graph.source(softmax)
    if axis is None or source is None or shape[axis] != 1 or elements(shape) < 2:
        return None
    last = axis == len(shape) - 1 or (len(shape) == 4 and axis == 1)
    elsewhere = [
        o
        for o in graph.operations(*SOFTMAXES)
        if o.location == softmax.location and o.shape[axis : axis + 1] != [1]
    ]
    if not last or not source.parameters or elsewhere:
        return None
    value = "0" if base_of(softmax) == "_log_softmax" else "1"
    made = expression_of(source.location, "the layer before it")
    fact = Evidence(
        f"{made} gives shape {shape}: there is one number to share 1 between",
        step=0,
        location=source.location,
    )
    message = (
        f"a softmax over one element (dimension {axis} of {shape}) is {value} "
        "whatever the model says, and hands no gradient back"
    )
    return message, (fact,)


def _of_rows(graph: ForwardGraph, softmax: GraphOperation) -> Told | None:
    """Judge a softmax over the rows of a layer's output, which a loss then takes row by row."""
    source = graph.source(softmax)
    if (
        axis_of(softmax) != 0
        or len(softmax.shape) < 2
        or softmax.shape[0] < 2
        or source is None
        or not source.parameters
    ):
        return None
    # Of one column, dimension 0 is all there is to choose from: a row that is picked, or whose likelihood is taken, is
    # one of several candidates. A loss with a target for every row tells that they are samples.
    judges = PER_SAMPLE - OF_A_CHOICE if elements(softmax.shape) == softmax.shape[0] else PER_SAMPLE
    taken = [consumer for consumer in graph.taken_by(softmax) if base_of(consumer) in judges]
    if not taken:
        return None
    fact = Evidence(
        f"its rows are judged one by one in {expression_of(taken[0].location, 'the loss')}",
        step=0,
        location=taken[0].location,
    )
    rows = softmax.shape[0]
    return (
        f"the softmax runs over dimension 0, the {rows} samples of the batch: they compete with each other",
        (fact,),
    )


def _of_attention(graph: ForwardGraph, softmax: GraphOperation) -> Told | None:
    """Judge the weights of an attention, (batch, …, queries, keys), by the product that sums over the keys."""
    axis, shape = axis_of(softmax), softmax.shape
    if axis is None or axis == len(shape) - 1 or len(shape) < 3 or min(shape[axis], shape[-1]) < 2:
        return None
    taken = _taken_by(graph, softmax)
    product = next((one for one in taken if _sums_over_last(graph, one, softmax)), None)
    if product is None or not _are_scores(graph, softmax):
        return None
    fact = Evidence(
        f"{expression_of(product.location, 'the product with the values')} sums over dimension {len(shape) - 1} "
        f"of these weights, and the sum of them along it is not 1",
        step=0,
        location=product.location,
    )
    rows = "the samples of the batch: they compete with each other" if axis == 0 else ""
    rows = rows or f"not over dimension {len(shape) - 1}, which the product after it sums over"
    return f"the softmax runs over dimension {axis} of {shape}, {rows}", (fact,)


def _is_over_samples(trace: Trace, softmax: GraphOperation) -> bool:
    """Tell whether it is the samples that share 1 between them; queries or slots may compete on purpose."""
    rows = {output.rows for output in trace.of(ModelOutput)}
    return axis_of(softmax) == 0 and softmax.shape[0] in rows


def _taken_by(graph: ForwardGraph, weights: GraphOperation) -> list[GraphOperation]:
    taken = graph.taken_by(weights)
    return taken + [
        after for one in taken if base_of(one) in DROPOUTS for after in graph.taken_by(one)
    ]


def _of_pooling(graph: ForwardGraph, softmax: GraphOperation) -> Told | None:
    """Judge weights (samples, steps) that were made along the samples and then sum over the steps of each sample."""
    summing = sum_over_steps(graph, softmax, _taken_by(graph, softmax))
    if axis_of(softmax) != 0 or summing is None:
        return None
    shape = softmax.shape
    fact = Evidence(
        f"{expression_of(summing.location, 'the sum after it')} sums over dimension 1 of these weights for each of "
        f"{shape[0]} samples, and the sum of them along it is not 1",
        step=0,
        location=summing.location,
    )
    return (
        f"the softmax runs over dimension 0 of {shape}, the samples of the batch: they compete with each other",
        (fact,),
    )


def _sums_over_last(graph: ForwardGraph, product: GraphOperation, softmax: GraphOperation) -> bool:
    """Tell whether a product multiplies a softmax from the left as it is, with no dimension swapped on the way."""
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
    """Tell whether a softmax was taken of a product of tensors, which may be scaled and masked."""
    current = graph.source(softmax)
    while current is not None and base_of(current) in MASKS:
        before = [made for made in graph.sources(current) if made is not None]
        current = next((made for made in before if made.differentiable), None)
    return current is not None and base_of(current) == "bmm"


def _of_samples(trace: Trace, softmax: GraphOperation) -> Told | None:
    """Judge a softmax over dimension 0 inside of a model by what changing one sample did to the others."""
    answer = samples_answer(trace)
    if answer is None or not answer.mixed or answer.batch_axis != 0 or answer.has_sequence_layer:
        return None
    shape = softmax.shape
    if axis_of(softmax) != 0 or len(shape) < 2 or shape[0] != answer.rows:
        return None
    # Nodes of a graph, or instances of a bag, may be weighed against each other on purpose.
    sequences = len(shape) > 2 or _is_of_sequences(trace, shape)
    if not answer.certain_axis and (not sequences or shape[1] == answer.rows):
        return None
    return (
        f"the softmax runs over dimension 0, the {answer.rows} samples of the batch: they compete with each other",
        (answer.proof,),
    )


def _is_of_sequences(trace: Trace, shape: list[int]) -> bool:
    """Tell whether the model was given (samples, steps, features) and the softmax weighs (samples, steps)."""
    given = next((o.given for o in trace.of(ModelOutput) if o.step == 0 and o.given), None)
    return given is not None and len(given.shape) > 2 and list(given.shape[:2]) == shape[:2]
