"""Detectors that read the forward graph, on graphs of a few operations."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from torchwhy.detect.causes.wiring.activation_on_logits import ActivationOnLogits
from torchwhy.detect.causes.wiring.broadcast_in_loss import BroadcastInLoss, broadcast_to_pairs
from torchwhy.detect.causes.wiring.detached_graph import DetachedGraph
from torchwhy.detect.causes.wiring.log_of_softmax import LogOfSoftmax
from torchwhy.detect.causes.wiring.lstm_batch_first import LstmBatchFirst
from torchwhy.detect.causes.wiring.probabilities_into_nll import ProbabilitiesIntoNll
from torchwhy.detect.causes.wiring.samples_mixed import SamplesMixed
from torchwhy.detect.causes.wiring.sigmoid_before_bce_with_logits import (
    SigmoidBeforeBceWithLogits,
)
from torchwhy.detect.causes.wiring.softmax_before_cross_entropy import SoftmaxBeforeCrossEntropy
from torchwhy.detect.causes.wiring.softmax_over_batch import SoftmaxOverBatch
from torchwhy.detect.causes.wiring.sum_over_batch import SumOverBatch
from torchwhy.detect.views.graph.reshapes import swaps_axes, swaps_heads, swaps_rows
from torchwhy.finding import SourceSpan
from torchwhy.record.events import Event, OptimizerMade, TensorFacts, Weights
from torchwhy.record.learning import (
    SAMPLES_QUESTION,
    Experiment,
    GraphCut,
    GraphOperation,
    LossRoot,
    ModelOutput,
)
from torchwhy.record.trace import Trace

MADE = SourceSpan("train.py", 4, expression="nn.LSTM(5, 8)")


class Graph:
    """Writes operations one after the other; each stands on a line of its own."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._numbers = count(1)

    def op(
        self, name: str, *sources: GraphOperation | None, shape: list[int], **more: Any
    ) -> GraphOperation:
        number = next(self._numbers)
        defaults: dict[str, Any] = {
            "location": SourceSpan("train.py", number, expression=f"{name}(…)"),
            "inputs": [source.order if source else -1 for source in sources],
            "input_shapes": [source.shape if source else shape for source in sources],
            "tracked": [bool(source and source.differentiable) for source in sources],
            "differentiable": any(
                source is not None and source.differentiable for source in sources
            ),
        }
        operation = GraphOperation(
            order=number, op=f"aten.{name}.default", shape=shape, **{**defaults, **more}
        )
        self.events.append(operation)
        return operation

    def layer(self, shape: list[int], source: GraphOperation | None = None) -> GraphOperation:
        return self.op("addmm", source, shape=shape, differentiable=True, parameters=["fc.weight"])

    def data(self, shape: list[int]) -> GraphOperation:
        return self.op("randn", shape=shape)

    def trace(self, loss: GraphOperation, *more: Event) -> Trace:
        root = LossRoot(step=0, order=loss.order, value=1.0, location=loss.location)
        return Trace((*self.events, root, *more))


def facts(low: float, high: float) -> TensorFacts:
    return TensorFacts(dtype="float32", shape=[8, 4], minimum=low, maximum=high)


def test_softmax_through_a_cast_before_log_softmax_is_reported_where_it_is_applied():
    graph = Graph()
    softmax = graph.op("_softmax", graph.layer([8, 4]), shape=[8, 4], scalars={"1": 1.0})
    cast = graph.op("_to_copy", softmax, shape=[8, 4])
    logs = graph.op("_log_softmax", cast, shape=[8, 4], scalars={"1": 1.0})
    loss = graph.op("nll_loss_forward", logs, shape=[])

    (finding,) = SoftmaxBeforeCrossEntropy().scan(graph.trace(loss))

    assert finding.location == softmax.location
    assert finding.symptom_at == logs.location
    assert finding.severity == "warning"


def test_softmax_of_data_before_log_softmax_is_not_reported():
    graph = Graph()
    softmax = graph.op("_softmax", graph.data([8, 4]), shape=[8, 4], scalars={"1": 1.0})
    logs = graph.op("_log_softmax", softmax, shape=[8, 4], scalars={"1": 1.0})

    assert list(SoftmaxBeforeCrossEntropy().scan(graph.trace(logs))) == []


def test_log_of_softmax_is_only_a_note():
    graph = Graph()
    softmax = graph.op("_softmax", graph.layer([8, 4]), shape=[8, 4])
    loss = graph.op("log", softmax, shape=[8, 4], facts=[facts(0.1, 0.9)])

    (finding,) = LogOfSoftmax().scan(graph.trace(loss))

    assert finding.severity == "note"


def test_log_of_softmax_plus_epsilon_is_not_reported():
    graph = Graph()
    softmax = graph.op("_softmax", graph.layer([8, 4]), shape=[8, 4])
    loss = graph.op("log", graph.op("add", softmax, shape=[8, 4]), shape=[8, 4])

    assert list(LogOfSoftmax().scan(graph.trace(loss))) == []


def test_sigmoid_before_logits_loss_is_reported():
    graph = Graph()
    sigmoid = graph.op("sigmoid", graph.layer([8, 1]), shape=[8, 1])
    loss = graph.op("binary_cross_entropy_with_logits", sigmoid, graph.data([8, 1]), shape=[])

    (finding,) = SigmoidBeforeBceWithLogits().scan(graph.trace(loss))

    assert finding.location == sigmoid.location
    assert finding.symptom_at == loss.location


@pytest.mark.parametrize(
    ("last", "low", "high", "severity"),
    [
        ("_softmax", 0.0, 1.0, "warning"),
        ("addmm", -2.0, 3.0, "error"),
        ("sub", -5.0, -0.1, None),
        ("_log_softmax", -5.0, 1e-7, None),
    ],
)
def test_nll_wants_logarithms_of_probabilities(last, low, high, severity):
    graph = Graph()
    source = graph.op(last, graph.layer([8, 4]), shape=[8, 4])
    loss = graph.op("nll_loss_forward", source, shape=[], facts=[facts(low, high)])

    found = [finding.severity for finding in ProbabilitiesIntoNll().scan(graph.trace(loss))]

    assert found == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("activation", "low", "high", "reported"),
    [
        ("relu", -2.0, 2.0, True),
        ("relu", 0.0, 9.0, False),
        ("relu", -0.01, 9.0, False),
        ("sigmoid", 0.0, 1.0, False),
        ("sigmoid", 0.0, 70.0, True),
        ("tanh", -1.0, 1.0, False),
        ("tanh", -9.0, 9.0, True),
        ("gelu", -9.0, 9.0, False),
    ],
)
def test_targets_outside_of_the_range_of_the_last_activation(activation, low, high, reported):
    graph = Graph()
    prediction = graph.op(activation, graph.layer([8, 1]), shape=[8, 1])
    loss = graph.op(
        "mse_loss", prediction, graph.data([8, 1]), shape=[], facts=[facts(0, 1), facts(low, high)]
    )

    assert bool(list(ActivationOnLogits().scan(graph.trace(loss)))) is reported


def test_relu_that_is_pooled_before_the_loss_is_not_reported():
    graph = Graph()
    relu = graph.op("relu", graph.layer([8, 4, 3, 3]), shape=[8, 4, 3, 3])
    logs = graph.op("_log_softmax", graph.op("mean", relu, shape=[8, 4]), shape=[8, 4])
    loss = graph.op("nll_loss_forward", logs, shape=[])

    assert list(ActivationOnLogits().scan(graph.trace(loss))) == []


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ([8, 1], [8], [8, 8]),
        ([8], [8, 1], [8, 8]),
        ([8, 1, 1], [8], [8, 1, 8]),
        ([8, 1], [8, 1], None),
        ([8, 1], [1, 8], None),
        ([1], [1, 1], None),
        ([8, 4], [4], None),
        ([8, 3], [8, 1], None),
        ([], [8], None),
    ],
)
def test_shapes_of_n_values_that_broadcast_to_pairs(left, right, result):
    assert broadcast_to_pairs(left, right) == result


def squared_error(graph: Graph, *, axis: str = "none") -> GraphOperation:
    prediction, target = graph.layer([8, 1]), graph.data([8])
    line = next(graph._numbers)
    views = []
    if axis == "made":
        graph.events.append(
            GraphOperation(
                order=900,
                op="aten.unsqueeze.default",
                shape=[8, 1],
                is_view=True,
                location=SourceSpan("train.py", line, expression="p[:, None]"),
            )
        )
        views = [900, -1]
    error = graph.op(
        "sub", prediction, target, shape=[8, 8], location=SourceSpan("train.py", line), views=views
    )
    return graph.op("pow", error, shape=[8, 8])


def test_column_minus_row_that_is_averaged_is_reported_at_the_difference():
    graph = Graph()
    loss = graph.op("mean", squared_error(graph), shape=[])

    (finding,) = BroadcastInLoss().scan(graph.trace(loss))

    assert finding.severity == "error"
    assert "(8, 1) and (8,)" in finding.message
    assert finding.location is not None
    assert finding.location.line == 3


def test_an_axis_made_in_the_same_line_is_on_purpose():
    graph = Graph()
    loss = graph.op("mean", squared_error(graph, axis="made"), shape=[])

    assert list(BroadcastInLoss().scan(graph.trace(loss))) == []


def test_a_table_of_pairs_that_goes_into_a_softmax_is_on_purpose():
    graph = Graph()
    shares = graph.op("_softmax", squared_error(graph), shape=[8, 8])
    loss = graph.op("mean", shares, shape=[])

    assert list(BroadcastInLoss().scan(graph.trace(loss))) == []


def test_a_table_of_pairs_that_meets_another_matrix_is_on_purpose():
    graph = Graph()
    products = graph.op("mm", graph.layer([8, 3]), graph.layer([3, 8]), shape=[8, 8])
    distances = graph.op("sub", squared_error(graph), products, shape=[8, 8])
    loss = graph.op("mean", distances, shape=[])

    assert list(BroadcastInLoss().scan(graph.trace(loss))) == []


def test_log_softmax_over_rows_before_nll_is_reported_at_the_softmax():
    graph = Graph()
    logs = graph.op("_log_softmax", graph.layer([8, 4]), shape=[8, 4], scalars={"1": 0.0})
    loss = graph.op("nll_loss_forward", logs, shape=[])

    (finding,) = SoftmaxOverBatch().scan(graph.trace(loss))

    assert finding.location == logs.location


def test_softmax_over_instances_that_weights_their_sum_is_not_reported():
    graph = Graph()
    weights = graph.op("_softmax", graph.layer([8, 1]), shape=[8, 1], scalars={"1": 0.0})
    pooled = graph.op("mul", weights, graph.layer([8, 4]), shape=[8, 4])

    assert list(SoftmaxOverBatch().scan(graph.trace(pooled))) == []


def test_symmetric_contrastive_softmax_over_columns_is_not_reported():
    graph = Graph()
    similarity = graph.op("mm", graph.layer([8, 3]), graph.layer([3, 8]), shape=[8, 8])
    logs = graph.op("_log_softmax", similarity, shape=[8, 8], scalars={"1": 0.0})
    loss = graph.op("nll_loss_forward", logs, shape=[])

    assert list(SoftmaxOverBatch().scan(graph.trace(loss))) == []


def test_softmax_over_a_single_output_is_reported():
    graph = Graph()
    softmax = graph.op("_softmax", graph.layer([8, 1]), shape=[8, 1], scalars={"1": 1.0})

    (finding,) = SoftmaxOverBatch().scan(graph.trace(softmax))

    assert "dimension of size 1" in finding.message


def tried(moved: int, **more: Any) -> Experiment:
    answer: dict[str, Any] = {
        "path": "net",
        "batch axis": 0,
        "rows": 16,
        "moved": moved,
        "certain axis": False,
        "layer": "net.rnn",
        "layer kind": "LSTM",
        "layer input": [16.0, 7.0, 5.0],
    }
    return Experiment(
        step=0, question=SAMPLES_QUESTION, answer={**answer, **more}, places={"made": MADE}
    )


def test_a_recurrence_over_the_batch_is_reported_where_the_layer_is_made():
    (finding,) = LstmBatchFirst().scan(Trace((tried(15),)))

    assert finding.location == MADE
    assert finding.certainty == "replayed"


@pytest.mark.parametrize(
    "said",
    [
        {"moved": 0},
        {"moved": 15, "layer input": [7.0, 16.0, 5.0]},
        {"moved": 15, "layer input": [16.0, 1.0, 5.0]},
        {"moved": 15, "layer input": [16.0, 5.0]},
        {"moved": 15, "layer input": [16.0, 16.0, 5.0]},
    ],
)
def test_what_may_be_time_first_on_purpose_is_not_reported(said):
    assert list(LstmBatchFirst().scan(Trace((tried(**said),)))) == []


def test_a_single_row_per_sample_is_reported_if_a_loader_vouches_for_the_batch():
    trace = Trace((tried(15, **{"layer input": [16.0, 5.0], "certain axis": True}),))

    assert len(list(LstmBatchFirst().scan(trace))) == 1


def test_a_refused_experiment_says_nothing():
    refused = Experiment(
        step=0, question=SAMPLES_QUESTION, answer={"path": "net", "refused": "hooks"}
    )

    assert list(LstmBatchFirst().scan(Trace((refused,)))) == []


def test_swapped_sizes():
    assert swaps_rows([2, 16, 8], [16, 16], 16)
    assert swaps_rows([16, 7, 5], [7, 16, 5], 16)
    assert not swaps_rows([16, 7, 5], [112, 5], 16)
    assert not swaps_rows([1, 16, 8], [16, 8], 16)
    assert swaps_axes([8, 12, 10, 3], [8, 3, 12, 10])
    assert not swaps_axes([8, 12, 10, 3], [8, 360])
    assert not swaps_axes([8, 1, 28, 28], [8, 28, 28, 1])
    assert swaps_heads([8, 6, 12], [8, 3, 6, 4])
    assert swaps_heads([8, 3, 6, 4], [8, 6, 12])
    assert not swaps_heads([8, 6, 12], [8, 6, 3, 4])
    assert not swaps_heads([8, 64, 16], [8, 8, 8, 16])


def test_a_reshape_that_swaps_rows_is_reported_only_if_samples_were_seen_to_mix():
    graph = Graph()
    reshape = graph.op("_unsafe_view", graph.layer([2, 16, 8]), shape=[16, 16])
    loss = graph.op("mean", reshape, shape=[])

    mixed = list(SamplesMixed().scan(graph.trace(loss, tried(15))))
    apart = list(SamplesMixed().scan(graph.trace(loss, tried(0))))

    assert [finding.location for finding in mixed] == [reshape.location]
    assert apart == []


def cut(**more: Any) -> GraphCut:
    given: dict[str, Any] = {
        "step": 0,
        "optimizer": 0,
        "parameters": ["enc.weight"],
        "how": "detach",
        "op": "aten.addmm.default",
        "location": SourceSpan("train.py", 9, expression="h.detach()"),
    }
    return GraphCut(**{**given, **more})


@pytest.mark.parametrize(
    ("event", "severity"),
    [
        (cut(), "warning"),
        (cut(whole=True), "error"),
        (cut(joins=True), "note"),
        (cut(how="no-grad", loaded=True), "note"),
        (cut(how="no-grad"), "warning"),
    ],
)
def test_severity_of_a_cut(event, severity):
    (finding,) = DetachedGraph().scan(Trace((event,)))

    assert finding.severity == severity


def test_parameters_that_get_a_gradient_later_are_left_alone():
    later = Weights(step=5, optimizer=0, names=["enc.weight"], weight_rms=[1.0], gradient_rms=[0.1])

    assert list(DetachedGraph().scan(Trace((cut(), later)))) == []


@pytest.mark.parametrize(("kind", "reported"), [("SGD", True), ("Adam", False)])
def test_a_summed_loss_is_noted_for_plain_gradient_descent(kind, reported):
    graph = Graph()
    loss = graph.op("sum", graph.layer([8, 1]), shape=[])
    made = OptimizerMade(index=0, kind=kind, defaults={"lr": 0.1})
    output = ModelOutput(
        step=0, path="net", facts=facts(0, 1), spread=1.0, rows=8, training=True, grad=True
    )

    found = list(SumOverBatch().scan(graph.trace(loss, made, output)))

    assert [finding.severity for finding in found] == (["note"] if reported else [])


@pytest.mark.parametrize(
    ("before", "after"),
    [([80, 16], [16, 5, 16]), ([16, 5, 16], [80, 16]), ([16, 5, 4, 16], [80, 4, 16])],
)
def test_rows_that_are_only_split_or_joined_are_not_swapped(before, after):
    assert not swaps_rows(before, after, 16)
