"""When NaN counts as made of infinities, on small traces."""

from __future__ import annotations

import pytest

from tests.detect.helpers import birth, number, tensor, trace_with
from torchwhy.detect.causes.numerics.infinity_arithmetic import InfinityArithmetic

INFINITY = float("inf")


def test_calculation_is_told_in_numbers() -> None:
    born = birth(
        "aten.mul.Tensor",
        tensor(0.0, "p"),
        tensor(-INFINITY, "log_p"),
        kind="from-infinity",
        expression="p * log_p",
    )

    (finding,) = InfinityArithmetic().scan(trace_with(born))

    assert finding.message == "p * log_p turns infinity into NaN: 0 · -inf"
    assert "log_p" in finding.fixes[0].title


def test_number_that_is_infinite_counts() -> None:
    born = birth("aten.mul.Tensor", tensor(0.0), number(-INFINITY))

    assert len(list(InfinityArithmetic().scan(trace_with(born)))) == 1


@pytest.mark.parametrize(
    "more",
    [{"fully_infinite_row": True}, {"phase": "accumulate"}, {"phase": "clip"}],
)
def test_what_has_a_detector_of_its_own_is_not_reported(more: dict[str, object]) -> None:
    born = birth("aten._softmax.default", tensor(-INFINITY), kind="from-infinity", **more)

    assert not list(InfinityArithmetic().scan(trace_with(born)))


def test_finite_operands_are_not_reported() -> None:
    born = birth("aten.div.Tensor", tensor(0.0), tensor(0.0))

    assert not list(InfinityArithmetic().scan(trace_with(born)))
