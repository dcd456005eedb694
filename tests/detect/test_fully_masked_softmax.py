"""fully-masked-softmax on small traces."""

from __future__ import annotations

import pytest

from tests.support.traces import birth, tensor, trace
from torchwhy.detect.causes.numerics.fully_masked_softmax import FullyMaskedSoftmax
from torchwhy.finding import Finding
from torchwhy.record.events import Birth, TensorFacts


def scan(one: Birth) -> list[Finding]:
    return list(FullyMaskedSoftmax().scan(trace(one)))


@pytest.mark.parametrize(
    "op",
    [
        "aten._softmax.default",
        "aten._log_softmax.default",
        "aten._scaled_dot_product_flash_attention.default",
    ],
)
def test_row_of_minus_infinity_is_reported_for_every_kind_of_softmax(op):
    output = TensorFacts(dtype="float32", shape=[4, 3], nan=3, first_bad_index=[2, 0])
    one = birth(
        op,
        kind="from-infinity",
        fully_infinite_row=True,
        operands=[tensor(name="scores")],
        output=output,
    )

    (finding,) = scan(one)

    assert "row [2]" in finding.message
    assert "scores" in finding.message


def test_softmax_that_got_a_nan_some_other_way_is_not_reported():
    assert scan(birth("aten._softmax.default", kind="from-infinity")) == []


def test_another_operation_on_a_row_of_minus_infinity_is_not_reported():
    assert scan(birth("aten.sub.Tensor", kind="from-infinity", fully_infinite_row=True)) == []
