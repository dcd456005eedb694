"""Divergence of updates written by hand: told from the losses alone, and not by one bad batch."""

from __future__ import annotations

import pytest

from tests.detect.helpers import birth, tensor, trace_with
from torchwhy.detect.views.training.manual_divergence import find_manual_divergence, has_run_away
from torchwhy.finding import SourceSpan
from torchwhy.record.events import Birth, Step
from torchwhy.record.learning import ManualUpdate
from torchwhy.record.trace import Trace


@pytest.mark.parametrize(
    ("losses", "ran_away"),
    [
        ([2.0, 80.0, 3e3, 1e5, 4e6, 1e8], True),
        ([2.0, 1e30], True),
        ([2.0, 1.5, 1.2, 1.1, 1.0, 1e9], False),
        ([1.0, 2.0, 4.0, 8.0, 16.0], False),
        ([5.0, 3.0, 1e-8, 1e-9], False),
        ([], False),
    ],
    ids=["step by step", "at once", "one bad batch", "only doubled", "falls", "no loss"],
)
def test_losses_that_run_away(*, losses: list[float], ran_away: bool) -> None:
    assert has_run_away(losses) is ran_away


def test_divergence_stands_at_the_line_of_the_update() -> None:
    born = birth("aten.pow.Tensor_Scalar", tensor(1e30), step=3)
    place = SourceSpan("train.py", 15, expression="p -= rate * p.grad")
    steps = [
        Step(step=n, optimizer=-1, losses=[10.0 ** (4 * n)], milliseconds=1.0) for n in range(3)
    ]
    trace = _trace(born, ManualUpdate(step=1, location=place), *steps)

    diverged = find_manual_divergence(trace, born)

    assert diverged is not None
    assert diverged.at == place
    assert diverged.losses == [1.0, 1e4, 1e8]


def _trace(born: Birth, *events: ManualUpdate | Step) -> Trace:
    return Trace((*events, *trace_with(born).events))
