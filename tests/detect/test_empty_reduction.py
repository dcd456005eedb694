"""empty-reduction on small traces."""

from __future__ import annotations

import pytest

from tests.support.traces import birth, tensor, trace
from torchwhy.detect.causes.numerics.empty_reduction import EmptyReduction
from torchwhy.finding import Finding
from torchwhy.record.events import Birth, Operand


def scan(one: Birth) -> list[Finding]:
    return list(EmptyReduction().scan(trace(one)))


def test_mean_of_no_elements_is_reported_with_the_operand():
    (finding,) = scan(
        birth("aten.mean.default", reduced=0, operands=[tensor("float32", 0, name="error[mask]")])
    )

    assert "error[mask] is empty" in finding.message


def test_loss_over_an_empty_batch_is_reported_without_a_count():
    one = birth(
        "aten.mse_loss.default", operands=[tensor("float32", 0, 3), tensor("float32", 0, 3)]
    )

    assert len(scan(one)) == 1


@pytest.mark.parametrize(
    "op", ["aten.std.correction", "aten.var.correction", "aten.std_mean.correction"]
)
def test_corrected_deviation_of_one_element_is_reported(op):
    (finding,) = scan(birth(op, reduced=1, operands=[tensor("float32", 1, 3)]))

    assert "1 element" in finding.message


def test_deviation_of_many_elements_that_overflows_is_not_reported():
    assert (
        scan(
            birth("aten.std.correction", reduced=64, value="inf", operands=[tensor("float32", 64)])
        )
        == []
    )


def test_every_label_ignored_is_reported_by_the_name_of_the_labels():
    labels = tensor("int64", 4, name="labels")
    (finding,) = scan(
        birth("aten.nll_loss_forward.default", operands=[tensor("float32", 4, 3), labels])
    )

    assert "labels is ignored" in finding.message


def test_infinite_loss_of_labels_that_count_is_not_reported():
    operands = [tensor("float32", 4, 3), tensor("int64", 4, name="labels")]

    assert (
        scan(birth("aten.nll_loss_forward.default", value="inf", reduced=4, operands=operands))
        == []
    )


def test_sum_divided_by_a_count_of_zero_is_reported():
    operands = [tensor("float32", at_born=0.0), tensor("int64", at_born=0.0, name="mask.sum()")]

    (finding,) = scan(birth("aten.div.Tensor", operands=operands))

    assert "mask.sum() was 0" in finding.message


@pytest.mark.parametrize(
    "operands",
    [
        [tensor("float32", at_born=0.0), tensor("float32", at_born=0.0)],
        [tensor("float32", at_born=5.0), tensor("int64", at_born=0.0)],
        [tensor("float32", at_born=0.0), Operand(scalar=0.0)],
    ],
)
def test_other_divisions_by_zero_are_left_to_their_own_detector(operands):
    assert scan(birth("aten.div.Tensor", operands=operands)) == []


def test_backward_births_are_left_to_their_forward_operation():
    assert scan(birth("aten.mean.default", reduced=0, node="MeanBackward0", phase="backward")) == []
