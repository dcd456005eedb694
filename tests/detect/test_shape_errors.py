"""Shapes that do not fit: which cause is named, which line is blamed, which cure is offered."""

from __future__ import annotations

from typing import Any

import pytest

from tests.detect.crash_traces import crash, scan, tensor, trace_of
from torchwhy.detect.causes.errors.broadcast_mismatch import BroadcastMismatch
from torchwhy.detect.causes.errors.channel_mismatch import ChannelMismatch
from torchwhy.detect.causes.errors.channels_last_image import ChannelsLastImage
from torchwhy.detect.causes.errors.linear_size_mismatch import LinearSizeMismatch
from torchwhy.detect.causes.errors.matmul_size_mismatch import MatmulSizeMismatch
from torchwhy.detect.causes.errors.missing_batch_dimension import MissingBatchDimension
from torchwhy.detect.causes.errors.target_shape_mismatch import TargetShapeMismatch
from torchwhy.finding import SourceSpan
from torchwhy.record.crashes import Crash, Layer, LoaderFacts, OperandTrial, WalkStep
from torchwhy.record.events import ModuleCalled

MADE = SourceSpan("train.py", 4, end_line=4, expression="nn.Linear(1050, 10)")
LINEAR = Layer(
    path="net.out",
    kind="Linear",
    text="Linear(in_features=1050, out_features=10)",
    settings={"in_features": 1050.0, "out_features": 10.0},
    made_at=MADE,
)
CONV = Layer(
    path="net.conv", kind="Conv2d", text="Conv2d(3, 8)", settings={"in_channels": 3.0}, made_at=MADE
)
PRODUCT = "mat1 and mat2 shapes cannot be multiplied (8x1568 and 1050x10)"
CHANNELS = (
    "Given groups=1, weight of size [8, 3, 3, 3], expected input[2, 24, 20, 3] to have 3 channels, "
    "but got 24 channels instead"
)
SHAPE_DETECTORS = (
    BroadcastMismatch,
    ChannelMismatch,
    ChannelsLastImage,
    LinearSizeMismatch,
    MatmulSizeMismatch,
    MissingBatchDimension,
    TargetShapeMismatch,
)


def in_linear(**more: Any) -> Crash:
    facts = {"layer_input": [8, 1568], "layer_input_name": "x"}
    return crash(
        PRODUCT,
        expression="self.out(x)",
        layers=[LINEAR],
        operands=[tensor("x", 8, 1568)],
        facts=facts,
        **more,
    )


def resized(**more: Any) -> OperandTrial:
    return OperandTrial(
        kind="resize-layer",
        target="net.out",
        parameter="in_features",
        right=1568,
        wrong=1050,
        worked=True,
        **more,
    )


def names(event: Crash) -> list[str]:
    """Return the shape detectors that claim a crash."""
    return [detector.name for detector in SHAPE_DETECTORS if list(detector().scan(trace_of(event)))]


def test_constructor_is_blamed_and_both_lines_are_told():
    walk = [
        WalkStep(what="pool", shape=[8, 32, 7, 7], dtype="float32"),
        WalkStep(
            what="flatten", shape=[8, 1568], dtype="float32", location=SourceSpan("train.py", 8)
        ),
    ]

    finding = scan(LinearSizeMismatch, in_linear(walk=walk))

    assert finding.location == MADE
    assert (
        finding.message == "net.out expects 1050 features but gets 1568: x (8×1568) in self.out(x)"
    )
    told = " ".join(evidence.claim for evidence in finding.evidence)
    assert "1568 = 32·7·7 comes from flatten (train.py:8)" in told
    raised = next(one for one in finding.evidence if one.claim == "self.out(x) raised it")
    assert raised.location is not None
    assert (raised.location, raised.location.line) == (finding.symptom_at, 9)


def test_layer_that_worked_before_is_not_blamed():
    worked = ModuleCalled(step=0, path="net.out", kind="Linear", inputs=[], outputs=[])

    finding = next(iter(LinearSizeMismatch().scan(trace_of(worked, in_linear()))))

    assert finding.location is not None
    assert finding.location.line == 9


def test_only_a_trial_that_went_through_is_offered():
    bad = OperandTrial(
        kind="transpose-input", target="x", method=".transpose(-1, -2)", worked=False
    )

    finding = scan(LinearSizeMismatch, in_linear(trials=[bad, resized(diff="--- a\n+++ b\n")]))

    (fix,) = finding.fixes
    assert fix.title == "make net.out an nn.Linear with in_features=1568 instead of 1050"
    assert finding.fixes[0].trial.verdict == "fits-this-call"
    assert finding.fixes[0].safety == "changes-results"


def test_number_that_comes_through_a_constructor_is_blamed_where_it_is_written():
    written = SourceSpan("other.py", 30, expression="1050")

    finding = scan(LinearSizeMismatch, in_linear(trials=[resized(location=written)]))

    assert finding.location == written


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (in_linear(), "linear-size-mismatch"),
        (
            crash(
                PRODUCT, expression="a @ b", operands=[tensor("a", 8, 1568), tensor("b", 1050, 10)]
            ),
            "matmul-size-mismatch",
        ),
        (crash(CHANNELS, layers=[CONV]), "channel-mismatch"),
        (
            crash(
                CHANNELS,
                layers=[CONV],
                trials=[
                    OperandTrial(
                        kind="permute-input", target="x", method=".permute(0, 3, 1, 2)", worked=True
                    )
                ],
            ),
            "channels-last-image",
        ),
        (
            crash("running_mean should contain 24 elements not 16", layers=[CONV]),
            "channel-mismatch",
        ),
        (
            crash("expected 4D input (got 3D input)", facts={"layer_input": [4, 5, 5]}),
            "missing-batch-dimension",
        ),
        (
            crash(
                "The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 1",
                expression="a + b",
            ),
            "broadcast-mismatch",
        ),
        (
            crash(
                "The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 0",
                expression="a @ b",
            ),
            "matmul-size-mismatch",
        ),
        (
            crash(
                "The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 1",
                expression="mse(a, b)",
                operands=[
                    tensor("a", 8, 4, argument="input"),
                    tensor("b", 8, 3, argument="target"),
                ],
            ),
            "target-shape-mismatch",
        ),
        (
            crash(
                "size mismatch (got input: [2], target: [1])",
                expression="loss.backward()",
                op="aten.nll_loss_backward",
            ),
            "missing-batch-dimension",
        ),
    ],
)
def test_each_crash_has_one_cause(event, name):
    assert names(event) == [name]


def test_input_with_a_dimension_too_many_does_not_lack_one():
    event = crash("expected 2D or 3D input (got 4D input)", facts={"layer_input": [2, 3, 4, 4]})

    assert names(event) == []


@pytest.mark.parametrize("detector", SHAPE_DETECTORS, ids=lambda detector: detector.name)
def test_exception_raised_on_purpose_is_left_alone(detector):
    event = crash(PRODUCT, raised_by="user", layers=[LINEAR])

    assert list(detector().scan(trace_of(event))) == []


def test_smaller_last_batch_is_left_to_its_own_detector():
    loader = LoaderFacts(
        usual_batch=["batch[0] float32[8, 4]"], last_batch=["batch[0] float32[3, 4]"]
    )
    message = (
        "The size of tensor a (3) must match the size of tensor b (8) at non-singleton dimension 0"
    )

    assert names(crash(message, expression="x + y", loader=loader)) == []


def test_reshape_that_tears_samples_apart_is_blamed():
    walk = [
        WalkStep(
            what="pool", shape=[4, 8, 14, 14], dtype="float32", location=SourceSpan("train.py", 5)
        ),
        WalkStep(what="view", shape=[64, 98], dtype="float32", location=SourceSpan("train.py", 6)),
        WalkStep(what="fc", shape=[64, 10], dtype="float32", location=SourceSpan("train.py", 7)),
    ]
    event = crash(
        "Expected input batch_size (64) to match target batch_size (4).",
        expression="cross_entropy(net(x), y)",
        operands=[tensor("net(x)", 64, 10, argument="input"), tensor("y", 4, argument="target")],
        walk=walk,
    )

    finding = scan(TargetShapeMismatch, event)

    assert finding.location == SourceSpan("train.py", 6)
    assert "turns 4 samples into 64 rows" in finding.message
