"""What counts as a division by zero, on small traces."""

from __future__ import annotations

import pytest

from tests.detect.helpers import birth, number, tensor, trace_with, twin
from torchwhy.detect.causes.numerics.division_by_zero import DivisionByZero
from torchwhy.finding import SourceSpan
from torchwhy.record.events import Operand


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        ("aten.div.Tensor", [tensor(3.0), tensor(0.0, "count")]),
        ("aten.div_.Tensor", [tensor(3.0), number(0.0)]),
        ("aten.reciprocal.default", [tensor(0.0)]),
        ("aten.rsqrt.default", [tensor(0.0)]),
        ("aten.pow.Tensor_Scalar", [tensor(0.0), number(-1.0)]),
        ("aten.pow.Scalar", [number(0.0), tensor(-1.0)]),
        ("aten.addcdiv.default", [tensor(1.0), tensor(1.0), tensor(0.0), number(1.0)]),
        ("aten.remainder.Scalar", [tensor(1.0), number(0.0)]),
        (
            "aten.native_layer_norm.default",
            [tensor(1.0), number(2.0, "normalized_shape"), number(0.0, "eps")],
        ),
    ],
)
def test_every_way_to_divide_by_zero_is_reported(op: str, operands: list[Operand]) -> None:
    (finding,) = DivisionByZero().scan(trace_with(birth(op, *operands)))

    assert finding.location is not None
    assert finding.location.line == 12
    assert "zero" in finding.message
    assert finding.fixes[0].safety == "show-only"


def test_message_names_divisor_and_sample() -> None:
    born = birth(
        "aten.div.Tensor",
        tensor(3.0, "total"),
        tensor(0.0, "count"),
        expression="total / count",
        positions=[7],
    )

    (finding,) = DivisionByZero().scan(trace_with(born))

    assert finding.message == "total / count divides by zero: count was exactly 0 for sample 7"
    assert finding.sample is not None
    assert finding.sample.position == 7


def test_small_divisor_is_not_reported() -> None:
    born = birth("aten.div.Tensor", tensor(1e30), tensor(1e-30), wider="finite")

    assert not list(DivisionByZero().scan(trace_with(born)))


def test_optimizer_update_is_left_to_its_own_detector() -> None:
    operands = tensor(1.0), tensor(0.0), tensor(0.0)
    born = birth("aten.addcdiv_.default", *operands, phase="update", expression="optimizer.step()")

    assert not list(DivisionByZero().scan(trace_with(born)))


def test_optimizer_of_the_program_itself_is_reported_at_its_division() -> None:
    born = birth(
        "aten.div.Tensor", tensor(0.0), tensor(0.0), phase="update", expression="m / v.sqrt()"
    )

    assert len(list(DivisionByZero().scan(trace_with(born)))) == 1


def test_gradient_of_root_is_left_to_its_own_detector() -> None:
    root = birth(
        "aten.div.Tensor",
        tensor(1.0),
        tensor(0.0),
        node="SqrtBackward0",
        forward=twin("aten.sqrt.default"),
    )
    power = birth("aten.pow.Tensor_Scalar", tensor(0.0), number(-0.5), node="PowBackward0")

    assert not list(DivisionByZero().scan(trace_with(root, power)))


def test_mean_over_counted_nothing_is_left_to_its_own_detector() -> None:
    born = birth("aten.div.Tensor", tensor(0.0, "total"), tensor(0.0, "mask.sum()", dtype="int64"))

    assert not list(DivisionByZero().scan(trace_with(born)))


def test_forward_and_backward_of_one_division_are_one_finding() -> None:
    first = birth("aten.div.Tensor", tensor(1.0), tensor(0.0))
    again = birth(
        "aten.div.Tensor",
        tensor(1.0),
        tensor(0.0),
        node="DivBackward0",
        forward=twin("aten.div.Tensor", births=[first.id]),
    )

    (finding,) = DivisionByZero().scan(trace_with(first, again))

    assert finding.births == (first.id, again.id)


def test_division_whose_inf_was_absorbed_and_came_back_in_backward_is_reported() -> None:
    absorbed = birth("aten.reciprocal.default", tensor(0.0), reaches=[])
    back = birth(
        "aten.mul.Tensor",
        tensor(0.0),
        tensor(float("inf")),
        kind="from-infinity",
        node="ReciprocalBackward0",
        parents=[absorbed.id],
        forward=twin("aten.reciprocal.default", births=[absorbed.id]),
    )

    (finding,) = DivisionByZero().scan(trace_with(absorbed, back))

    assert finding.births == (absorbed.id, back.id)


def test_division_that_a_mask_hid_is_left_to_masked_branch_gradient() -> None:
    hidden = birth("aten.reciprocal.default", tensor(0.0), reaches=["gradient of fc.weight"])
    back = birth(
        "aten.mul.Tensor",
        kind="from-infinity",
        node="ReciprocalBackward0",
        parents=[hidden.id],
        forward=twin("aten.reciprocal.default", births=[hidden.id], hidden=True),
    )

    assert not list(DivisionByZero().scan(trace_with(hidden, back)))


def test_division_in_a_hook_of_the_user_is_told_as_the_users_own() -> None:
    born = birth(
        "aten.div.Tensor",
        tensor(0.0, "g"),
        tensor(
            0.0,
            None,
            origin="operation",
            origin_location=SourceSpan("train.py", 12, expression="g.norm()"),
        ),
        node="AccumulateGrad",
        called_from=SourceSpan("train.py", 30),
        expression="g / g.norm()",
    )

    (finding,) = DivisionByZero().scan(trace_with(born))

    assert finding.message == "g / g.norm() divides by zero: g.norm() was exactly 0"


def test_the_gradient_of_a_decomposition_divides_by_a_difference_of_its_values() -> None:
    born = birth(
        "aten.div.Tensor",
        tensor(1.0),
        tensor(0.0, shape=[6, 6]),
        node="LinalgSvdBackward0",
        forward=twin("aten._linalg_svd.default", names=["w"]),
    )

    (finding,) = DivisionByZero().scan(trace_with(born))

    assert "singular values of w, and two of them were equal" in finding.message
