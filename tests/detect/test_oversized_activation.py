"""What is oversized, on small traces."""

from __future__ import annotations

from typing import Any

from tests.support.traces import LINE, trace
from torchwhy.detect.causes.memory.oversized_activation import OversizedActivation
from torchwhy.record.learning import GraphOperation


def operation(order: int, shape: list[int], *operands: list[int], **facts: Any) -> GraphOperation:
    given: dict[str, Any] = {"op": "aten.sub.Tensor", "dtype": "float32", "location": LINE}
    return GraphOperation(
        order=order, shape=shape, input_shapes=list(operands), **{**given, **facts}
    )


def test_all_against_all_is_noted_at_the_expression_that_makes_it():
    small = operation(1, [1000, 32], [1000, 16], [16, 32])
    large = operation(2, [1000, 1000, 32], [1000, 1, 32], [1, 1000, 32])

    (finding,) = OversizedActivation().scan(trace(small, large))

    assert finding.severity == "note"
    assert finding.location == LINE
    assert finding.evidence[0].value == 128_000_000
    assert "128 MB" in finding.message


def test_a_large_batch_is_no_reason():
    large = operation(1, [100_000, 128], [100_000, 64], [64, 128])

    assert list(OversizedActivation().scan(trace(large))) == []


def test_a_view_makes_nothing():
    view = operation(1, [1000, 1000, 32], [1000, 1, 32], op="aten.expand.default")

    assert list(OversizedActivation().scan(trace(view))) == []


def test_one_large_result_among_many_is_not_noted():
    large = operation(1, [300, 1000, 32], [300, 1, 32], [1, 1000, 32])
    others = [operation(n, [3_000_000], [3_000_000]) for n in range(2, 12)]

    assert list(OversizedActivation().scan(trace(large, *others))) == []
