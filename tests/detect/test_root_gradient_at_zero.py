"""What counts as the gradient of a root at zero, on small traces."""

from __future__ import annotations

import pytest

from tests.detect.helpers import birth, number, tensor, trace_with, twin
from torchwhy.detect.causes.numerics.root_gradient_at_zero import RootGradientAtZero


@pytest.mark.parametrize(
    "node", ["SqrtBackward0", "LinalgVectorNormBackward0", "StdBackward0", "HypotBackward0"]
)
def test_backward_formula_that_divides_by_the_root_is_reported(node: str) -> None:
    born = birth(
        "aten.div.Tensor",
        tensor(1.0, None),
        tensor(0.0, None),
        node=node,
        forward=twin("aten.sqrt.default"),
    )

    (finding,) = RootGradientAtZero().scan(trace_with(born))

    assert finding.births == (born.id,)


def test_message_names_operand_and_sample() -> None:
    born = birth(
        "aten.div.Tensor",
        tensor(1.0, None),
        tensor(0.0, None),
        node="SqrtBackward0",
        forward=twin("aten.sqrt.default", names=["sum_of_squares"]),
        expression="sum_of_squares.sqrt()",
        positions=[7],
        dataset_indices=[3091],
    )

    (finding,) = RootGradientAtZero().scan(trace_with(born))

    assert finding.message == (
        "sum_of_squares.sqrt() has an infinite gradient at 0: its operand sum_of_squares was exactly 0 "
        "for sample 7 (row 3091 of the dataset)"
    )


def test_power_below_one_is_a_root() -> None:
    born = birth("aten.pow.Tensor_Scalar", tensor(0.0), number(-0.5), node="PowBackward0")

    assert list(RootGradientAtZero().scan(trace_with(born)))


def test_negative_power_is_a_division() -> None:
    born = birth("aten.pow.Tensor_Scalar", tensor(0.0), number(-2.0), node="PowBackward0")

    assert not list(RootGradientAtZero().scan(trace_with(born)))


def test_root_behind_a_mask_is_not_reported() -> None:
    born = birth(
        "aten.div.Tensor",
        tensor(0.0),
        tensor(0.0),
        node="SqrtBackward0",
        forward=twin("aten.sqrt.default", hidden=True),
    )

    assert not list(RootGradientAtZero().scan(trace_with(born)))


def test_root_of_tiny_number_is_not_reported() -> None:
    born = birth(
        "aten.div.Tensor", tensor(1e30), tensor(1e-20), node="SqrtBackward0", wider="finite"
    )

    assert not list(RootGradientAtZero().scan(trace_with(born)))
