"""What counts as a logarithm of nothing, on small traces."""

from __future__ import annotations

import pytest

from tests.detect.helpers import birth, number, tensor, trace_with, twin
from torchwhy.detect.causes.numerics.log_of_nonpositive import LogOfNonpositive
from torchwhy.record.events import Operand


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        ("aten.log.default", [tensor(0.0)]),
        ("aten.log_.default", [tensor(-2.0)]),
        ("aten.log2.default", [tensor(0.0)]),
        ("aten.log1p.default", [tensor(-1.0)]),
        ("aten.xlogy.Tensor", [tensor(1.0), tensor(0.0)]),
        ("aten.special_xlog1py.default", [tensor(1.0), tensor(-1.0)]),
        ("aten.special_entr.default", [tensor(-1.0)]),
        ("aten._linalg_slogdet.default", [tensor(None)]),
    ],
)
def test_every_logarithm_is_judged_by_its_bound(op: str, operands: list[Operand]) -> None:
    assert len(list(LogOfNonpositive().scan(trace_with(birth(op, *operands))))) == 1


@pytest.mark.parametrize("node", ["LogBackward0", "Log1PBackward0", "XlogyBackward0"])
def test_gradient_of_logarithm_at_zero_is_reported(node: str) -> None:
    born = birth(
        "aten.div.Tensor",
        tensor(0.0, None),
        tensor(0.0, None),
        node=node,
        forward=twin("aten.log.default", names=["x", "x"]),
    )

    (finding,) = LogOfNonpositive().scan(trace_with(born))

    assert "x was exactly 0" in finding.message


def test_message_names_operand_and_value() -> None:
    born = birth("aten.log.default", tensor(-0.5, "p"), expression="torch.log(p)", positions=[3, 4])

    (finding,) = LogOfNonpositive().scan(trace_with(born))

    assert (
        finding.message
        == "torch.log(p) takes the logarithm of -0.5: p was -0.5 for sample 3 and 1 more"
    )
    assert finding.evidence[0].value == -0.5


def test_logarithm_of_a_zero_that_is_none_in_float32_is_not_reported() -> None:
    born = birth("aten.log.default", tensor(0.0, wider_at_born=1e-11), dtype="float16")

    assert not list(LogOfNonpositive().scan(trace_with(born)))


def test_logarithm_inside_the_gradient_of_a_power_is_not_reported() -> None:
    born = birth("aten.log.default", tensor(-1.0), node="PowBackward1")

    assert not list(LogOfNonpositive().scan(trace_with(born)))


def test_positive_operand_is_not_reported() -> None:
    born = birth("aten.log1p.default", tensor(-0.5), number(1.0))

    assert not list(LogOfNonpositive().scan(trace_with(born)))
