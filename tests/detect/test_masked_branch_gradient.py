"""When a gradient counts as that of a hidden branch, on small traces."""

from __future__ import annotations

from tests.detect.helpers import birth, tensor, trace_with, twin
from torchwhy.detect.causes.numerics.infinity_arithmetic import InfinityArithmetic
from torchwhy.detect.causes.numerics.masked_branch_gradient import MaskedBranchGradient
from torchwhy.detect.causes.numerics.root_gradient_at_zero import RootGradientAtZero


def test_gradient_of_a_hidden_branch_is_reported_at_the_operation() -> None:
    born = birth(
        "aten.div.Tensor",
        tensor(0.0),
        tensor(0.0),
        node="SqrtBackward0",
        forward=twin("aten.sqrt.default", hidden=True),
        expression="torch.sqrt(x)",
    )
    trace = trace_with(born)

    (finding,) = MaskedBranchGradient().scan(trace)

    assert finding.location is not None
    assert finding.location.line == 12
    assert finding.message.startswith(
        "torch.where(ok, y, 0) on line 13 hides the value of torch.sqrt(x)"
    )
    assert not list(RootGradientAtZero().scan(trace))


def test_zero_times_infinity_of_a_hidden_branch_is_one_finding() -> None:
    born = birth(
        "aten.mul.Tensor",
        tensor(0.0),
        tensor(float("inf")),
        kind="from-infinity",
        node="ExpBackward0",
        forward=twin("aten.exp.default", hidden=True),
    )
    trace = trace_with(born)

    assert len(list(MaskedBranchGradient().scan(trace))) == 1
    assert not list(InfinityArithmetic().scan(trace))


def test_gradient_without_a_mask_is_not_reported() -> None:
    born = birth(
        "aten.div.Tensor",
        tensor(0.0),
        tensor(0.0),
        node="SqrtBackward0",
        forward=twin("aten.sqrt.default"),
    )

    assert not list(MaskedBranchGradient().scan(trace_with(born)))
