"""The detectors of what happens to gradients after backward: accumulation, clipping, update."""

from __future__ import annotations

import pytest

from tests.support.traces import LINE, birth, tensor, trace
from torchwhy.detect.causes.numerics.accumulated_infinities import AccumulatedInfinities
from torchwhy.detect.causes.numerics.clip_of_infinite_norm import ClipOfInfiniteNorm
from torchwhy.detect.causes.numerics.optimizer_epsilon import OptimizerEpsilon
from torchwhy.finding import SourceSpan
from torchwhy.record.events import GradientsClipped, OptimizerMade, TensorFacts

MADE_AT = SourceSpan("train.py", 4)


def adam(**defaults):
    return OptimizerMade(index=0, kind="Adam", defaults=defaults, location=MADE_AT)


def update(dtype="float32", divisor=0.0, op="aten.addcdiv_.default"):
    return birth(
        op,
        phase="update",
        reaches=["parameter fc.weight"],
        operands=[tensor(dtype), tensor(dtype), tensor(dtype, at_born=divisor)],
        output=TensorFacts(dtype=dtype, shape=[4], nan=1),
    )


def test_epsilon_of_zero_is_reported_with_the_line_that_made_the_optimizer():
    (finding,) = OptimizerEpsilon().scan(trace(adam(eps=0.0), update()))

    assert "its eps is 0" in finding.message
    assert finding.location == MADE_AT
    assert finding.evidence[1].location == LINE


def test_epsilon_that_rounds_to_zero_in_the_weights_type_is_reported():
    (finding,) = OptimizerEpsilon().scan(trace(adam(eps=1e-8), update("float16")))

    assert "1e-08 is 0 in float16" in finding.message


@pytest.mark.parametrize(
    ("epsilon", "dtype"), [(1e-8, "float32"), (1e-8, "bfloat16"), (1e-4, "float16")]
)
def test_epsilon_that_the_type_can_hold_is_not_blamed(epsilon, dtype):
    assert list(OptimizerEpsilon().scan(trace(adam(eps=epsilon), update(dtype)))) == []


def test_update_that_divided_by_something_else_than_zero_is_not_blamed_on_epsilon():
    assert list(OptimizerEpsilon().scan(trace(adam(eps=0.0), update(divisor=1e-30)))) == []


def test_same_division_outside_the_update_is_not_reported():
    one = birth("aten.addcdiv_.default", operands=[tensor(at_born=0.0)])

    assert list(OptimizerEpsilon().scan(trace(adam(eps=0.0), one))) == []


def test_fused_update_is_reported_without_its_divisor():
    one = birth("aten._fused_adam_.default", phase="update", reaches=["parameter fc.weight"])

    assert len(list(OptimizerEpsilon().scan(trace(adam(eps=0.0), one)))) == 1


def test_norm_of_finite_gradients_that_overflows_is_reported():
    one = birth("aten._foreach_norm.Scalar", phase="clip", value="inf", reaches=[])

    (finding,) = ClipOfInfiniteNorm().scan(trace(one))

    assert finding.severity == "error"
    assert "every gradient is finite" in finding.message


def test_nan_made_by_clipping_an_infinite_gradient_is_reported():
    one = birth(
        "aten.mul_.Tensor", phase="clip", kind="from-infinity", reaches=["gradient of fc.weight"]
    )

    (finding,) = ClipOfInfiniteNorm().scan(trace(one))

    assert "0 * inf" in finding.message


def test_clipping_before_unscale_is_one_warning_for_the_whole_run():
    clips = [GradientsClipped(step=step, scaled=True, location=LINE) for step in range(3)]

    (finding,) = ClipOfInfiniteNorm().scan(trace(*clips))

    assert finding.severity == "warning"
    assert finding.step == 0


def test_clipping_of_plain_gradients_is_silent():
    assert (
        list(
            ClipOfInfiniteNorm().scan(trace(GradientsClipped(step=0, scaled=False, location=LINE)))
        )
        == []
    )


def test_infinities_that_cancel_in_accumulation_are_reported_where_backward_was_called():
    called = SourceSpan("train.py", 30)
    facts = {"phase": "accumulate", "kind": "from-infinity", "called_from": called}
    one = birth("aten.add_.Tensor", reaches=["gradient of w"], **facts)

    (finding,) = AccumulatedInfinities().scan(trace(one))

    assert finding.location == called
    assert "gradient of w" in finding.message


def test_overflow_in_accumulation_is_not_a_meeting_of_infinities():
    assert (
        list(AccumulatedInfinities().scan(trace(birth("aten.add_.Tensor", phase="accumulate"))))
        == []
    )
