"""Number types, labels, indices and devices that do not fit."""

from __future__ import annotations

import pytest

from tests.detect.crash_traces import crash, scan, tensor, trace_of
from torchwhy.detect.causes.errors.device_mismatch import DeviceMismatch
from torchwhy.detect.causes.errors.dtype_mismatch import DtypeMismatch
from torchwhy.detect.causes.errors.index_out_of_range import IndexOutOfRange
from torchwhy.detect.causes.errors.label_dtype import LabelDtype
from torchwhy.detect.causes.errors.label_out_of_range import LabelOutOfRange
from torchwhy.finding import SourceSpan
from torchwhy.record.crashes import Crash, Layer, LoaderFacts, OperandTrial

TYPE_DETECTORS = (DeviceMismatch, DtypeMismatch, IndexOutOfRange, LabelDtype, LabelOutOfRange)
OUT_OF_RANGE = {
    "range_size": 3.0,
    "range_count": 6.0,
    "range_bad": 1.0,
    "range_positions": [2],
    "range_values": [7],
    "range_minimum": 0.0,
    "range_maximum": 7.0,
}
LOSS = [tensor("out", 6, 3, argument="input"), tensor("y", 6, argument="target", dtype="int64")]


def names(event: Crash) -> list[str]:
    """Return the detectors that claim a crash."""
    return [detector.name for detector in TYPE_DETECTORS if list(detector().scan(trace_of(event)))]


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (
            crash("mat1 and mat2 must have the same dtype, but got Double and Float"),
            "dtype-mismatch",
        ),
        (crash("Input type (double) and bias type (float) should be the same"), "dtype-mismatch"),
        (
            crash("expected scalar type Float but found Double", expression="torch.bmm(a, b)"),
            "dtype-mismatch",
        ),
        (
            crash(
                "Found dtype Double but expected Float", expression="loss.backward()", operands=LOSS
            ),
            "dtype-mismatch",
        ),
        (
            crash("expected target dtype to be Long or Byte, but got Float", operands=LOSS),
            "label-dtype",
        ),
        (crash("expected scalar type Long but found Float", operands=LOSS), "label-dtype"),
        (
            crash("result type Float can't be cast to the desired output type Long", operands=LOSS),
            "label-dtype",
        ),
        (
            crash("Target 7 is out of bounds.", operands=LOSS, facts=OUT_OF_RANGE),
            "label-out-of-range",
        ),
        (crash("Class values must be smaller than num_classes."), "label-out-of-range"),
        (crash("index out of range in self"), "index-out-of-range"),
        (crash("index 9 is out of bounds for dimension 0 with size 4"), "index-out-of-range"),
        (
            crash(
                "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
            ),
            "device-mismatch",
        ),
        (
            crash(
                "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same"
            ),
            "device-mismatch",
        ),
        (
            crash(
                "Input type (torch.DoubleTensor) and weight type (torch.FloatTensor) should be the same"
            ),
            "dtype-mismatch",
        ),
        (
            crash("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first."),
            "device-mismatch",
        ),
    ],
)
def test_each_crash_has_one_cause(event, name):
    assert names(event) == [name]


def test_bad_label_is_told_with_its_row_of_the_dataset():
    loader = LoaderFacts(indices=[10, 11, 12, 13, 14, 15])
    event = crash(
        "Target 7 is out of bounds.",
        expression="loss(out, y)",
        operands=LOSS,
        facts=OUT_OF_RANGE,
        loader=loader,
    )

    finding = scan(LabelOutOfRange, event)

    assert finding.message == "y contains the label 7, but loss(out, y) has 3 classes, 0 to 2"
    assert finding.sample is not None
    assert (finding.sample.position, finding.sample.dataset_index) == (2, 12)
    assert finding.fixes[0].title.startswith("give the last layer 8 outputs")


def test_labels_that_count_from_one_are_recognised():
    facts = {**OUT_OF_RANGE, "range_values": [3], "range_minimum": 1.0, "range_maximum": 3.0}
    shift = OperandTrial(kind="shift-target", target="y", method=" - 1", worked=True)

    finding = scan(
        LabelOutOfRange,
        crash("Target 3 is out of bounds.", operands=LOSS, facts=facts, trials=[shift]),
    )

    assert finding.message.endswith("the labels count from 1")
    assert [fix.title for fix in finding.fixes] == ["y - 1"]


def test_float64_is_traced_to_the_expression_that_made_it():
    made = SourceSpan("train.py", 3, expression="torch.from_numpy(rows)")
    x = tensor("x", 8, 5, dtype="float64", made_by=made, origin="assignment")
    weight = tensor("self.weight", 3, 5, kind="parameter")
    event = crash(
        "mat1 and mat2 must have the same dtype, but got Double and Float", operands=[x, weight]
    )

    finding = scan(DtypeMismatch, event)

    assert finding.message.startswith("x is float64, but self.weight is float32")
    assert (
        "torch.from_numpy(rows) (train.py:3) makes x; NumPy's default is float64"
        in finding.evidence[0].claim
    )


def test_loss_expression_is_blamed_when_its_backward_pass_raises():
    made = SourceSpan("train.py", 5, expression="huber_loss(out, y)")
    loss = tensor("loss", made_by=made)
    target = tensor("y", 6, dtype="int64", argument="target")
    event = crash(
        "Found dtype Long but expected Float",
        expression="loss.backward()",
        operands=[loss],
        inputs=[target],
    )

    finding = scan(LabelDtype, event)

    assert finding.location == made
    assert "y (int64 6)" in finding.message


def test_tensor_to_move_is_the_one_that_is_no_weight():
    layer = Layer(path="net", kind="Linear", text="Linear(10, 2)")
    x = tensor("x", 8, 10)
    weight = tensor("mat2", 10, 2, kind="parameter", device="cuda:0")
    event = crash(
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
        expression="net(x)",
        layers=[layer],
        operands=[x],
        inputs=[weight],
        facts={"layer_input": [8, 10], "layer_input_name": "x"},
    )

    finding = scan(DeviceMismatch, event)

    assert finding.message == "x is on cpu, but net is on cuda:0: net(x) needs them on one device"
    assert "x.to('cuda:0')" in finding.fixes[0].title
