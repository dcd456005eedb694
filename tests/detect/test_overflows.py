"""Which overflow is which: exponential, float, half precision, or no overflow at all."""

from __future__ import annotations

import pytest

from tests.detect.helpers import alarm, birth, number, tensor, trace_with
from torchwhy.detect.causes.numerics.domain_error import DomainError
from torchwhy.detect.causes.numerics.exp_overflow import ExpOverflow
from torchwhy.detect.causes.numerics.float_overflow import FloatOverflow
from torchwhy.detect.causes.numerics.half_precision_overflow import HalfPrecisionOverflow
from torchwhy.detect.causes.numerics.half_precision_underflow import HalfPrecisionUnderflow
from torchwhy.record.events import Birth, ScaleChanged
from torchwhy.record.trace import Trace

DETECTORS = (DomainError, ExpOverflow, FloatOverflow, HalfPrecisionOverflow, HalfPrecisionUnderflow)


def names(trace: Trace) -> list[str]:
    return [finding.detector for detector in DETECTORS for finding in detector().scan(trace)]


def born(op: str, *operands: object, **more: object) -> Birth:
    return birth(op, *operands, value="inf", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (born("aten.exp.default", tensor(100.0), wider="finite"), "exp-overflow"),
        (born("aten.expm1.default", tensor(100.0), wider="finite"), "exp-overflow"),
        (born("aten.exp2.default", tensor(200.0), wider="finite"), "exp-overflow"),
        (born("aten.exp.default", tensor(800.0), wider=None, dtype="float64"), "exp-overflow"),
        (born("aten.pow.Scalar", number(2.0), tensor(200.0), wider="finite"), "exp-overflow"),
        (
            born("aten.sinh.default", tensor(-100.0), node="CoshBackward0", wider="finite"),
            "exp-overflow",
        ),
        (
            born("aten.exp.default", tensor(20.0), wider="finite", dtype="float16"),
            "half-precision-overflow",
        ),
        (
            born("aten.exp.default", tensor(100.0), wider="nonfinite", dtype="float16"),
            "exp-overflow",
        ),
        (
            born("aten.exp.default", tensor(90.0), wider="nonfinite", dtype="bfloat16"),
            "exp-overflow",
        ),
        (born("aten.mul.Tensor", tensor(1e30), tensor(1e30), wider="finite"), "float-overflow"),
        (
            born("aten.pow.Tensor_Scalar", tensor(1e30), number(20.0), wider="nonfinite"),
            "float-overflow",
        ),
        (born("aten.mm.default", tensor(None), tensor(None), wider="finite"), "float-overflow"),
        (born("aten.div.Tensor", tensor(1e30), tensor(1e-30), wider="finite"), "float-overflow"),
        (
            born(
                "aten.mul.Tensor", tensor(1e30), number(1e30), node="MulBackward0", wider="finite"
            ),
            "float-overflow",
        ),
        (
            born("aten.prod.default", tensor(None), wider=None, dtype="float64", reduced=400),
            "float-overflow",
        ),
        (
            born("aten.mul.Tensor", tensor(300.0), tensor(300.0), wider="finite", dtype="float16"),
            "half-precision-overflow",
        ),
        (
            born("aten._to_copy.default", tensor(1e6), wider="finite", dtype="float16"),
            "half-precision-overflow",
        ),
        (
            born(
                "aten.div.Tensor",
                tensor(1.0),
                tensor(0.0),
                dtype="float16",
                expression="x / (y + 1e-8)",
            ),
            "half-precision-underflow",
        ),
        (
            born("aten.log.default", tensor(0.0, wider_at_born=2e-9), dtype="float16"),
            "half-precision-underflow",
        ),
        (birth("aten.acos.default", tensor(1.0000001), value="nan"), "domain-error"),
        (birth("aten.sqrt.default", tensor(-1e-9), value="nan"), "domain-error"),
        (birth("aten.rsqrt.default", tensor(-1.0), value="nan"), "domain-error"),
        (birth("aten.logit.default", tensor(1.0), value="inf"), "domain-error"),
        (birth("aten.pow.Tensor_Scalar", tensor(-2.0), number(0.5), value="nan"), "domain-error"),
        (birth("aten.log.default", tensor(-2.0), node="PowBackward1", value="nan"), "domain-error"),
        (
            birth("aten.rsqrt.default", tensor(0.0), node="AcosBackward0", value="inf"),
            "domain-error",
        ),
    ],
)
def test_each_birth_has_exactly_one_cause(event: Birth, expected: str) -> None:
    assert names(trace_with(event)) == [expected]


@pytest.mark.parametrize(
    "event",
    [
        born("aten.div.Tensor", tensor(1.0), tensor(0.0), wider="nonfinite"),
        born("aten.log.default", tensor(0.0), wider="nonfinite"),
        born(
            "aten.div.Tensor",
            tensor(1.0),
            tensor(0.0),
            dtype="bfloat16",
            expression="x / (y + 1e-8)",
        ),
        born(
            "aten.div.Tensor",
            tensor(1.0),
            tensor(0.0),
            dtype="float16",
            expression="x / (y + 1e-3)",
        ),
        born("aten.mul.Tensor", tensor(0.0), number(float("inf")), wider="nonfinite"),
        birth("aten.mean.default", tensor(None), value="nan", reduced=0, wider="nonfinite"),
    ],
)
def test_what_is_no_overflow_is_not_reported(event: Birth) -> None:
    assert names(trace_with(event)) == []


def test_exponential_tells_operand_and_limit() -> None:
    event = born(
        "aten.exp.default", tensor(412.0, "scores"), expression="torch.exp(scores)", wider="finite"
    )

    (finding,) = ExpOverflow().scan(trace_with(event))

    assert finding.message == (
        "torch.exp(scores) overflows: scores was 412, and exp of more than 88.72 is infinite in float32"
    )


def test_gradient_overflow_under_a_scaler_is_its_daily_work() -> None:
    event = born(
        "aten._to_copy.default",
        tensor(1e6),
        wider="finite",
        dtype="float16",
        node="ToCopyBackward0",
    )
    scale = ScaleChanged(step=0, scale=65536.0)

    assert names(trace_with(event, scale)) == []
    assert names(trace_with(event, scale, alarm(0))) == ["half-precision-overflow"]
