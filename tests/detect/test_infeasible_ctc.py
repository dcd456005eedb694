"""infeasible-ctc on small traces."""

from __future__ import annotations

import pytest

from tests.support.traces import birth, tensor, trace
from torchwhy.detect.causes.numerics.infeasible_ctc import InfeasibleCtc
from torchwhy.record.events import TensorFacts


@pytest.mark.parametrize("overload", ["default", "Tensor"])
def test_target_longer_than_its_input_is_reported_with_both_lengths(overload):
    operands = [
        tensor("int64", 2, argument="input_lengths", at_born=5.0),
        tensor("int64", 2, argument="target_lengths", at_born=8.0),
    ]
    output = TensorFacts(dtype="float32", shape=[2], positive_infinity=1, first_bad_index=[1])

    one = birth(f"aten._ctc_loss.{overload}", operands=operands, output=output, value="inf")

    (finding,) = InfeasibleCtc().scan(trace(one))

    assert "target of sample 1" in finding.message
    assert "8 labels, 5 frames" in finding.message


def test_infinite_log_probabilities_are_not_blamed_on_the_lengths():
    assert (
        list(InfeasibleCtc().scan(trace(birth("aten._ctc_loss.Tensor", kind="from-infinity"))))
        == []
    )
