"""What a cause did to the run, told by facts of the trace."""

from __future__ import annotations

import pytest

from tests.detect.helpers import alarm, optimizer, trace_with
from tests.support.findings import said
from torchwhy.explain.effects import effect_of
from torchwhy.finding import Finding
from torchwhy.record.events import Alarm

FALLING = [1.0 / (step + 1) for step in range(60)]
LEVEL = [1.0 + 0.001 * (step % 3) for step in range(60)]
GROWING = [1.0 * 1.2**step for step in range(60)]


def found(detector: str = "missing-zero-grad", **more) -> Finding:
    return Finding(detector, "error", said("x"), **more)


def evaluated(value: str) -> Alarm:
    return Alarm(step=3, optimizer=None, what="evaluation", losses=[value])


@pytest.mark.parametrize(
    ("finding", "trace", "effect"),
    [
        (found(), trace_with(optimizer(), losses=FALLING), "fault"),
        (found(), trace_with(optimizer(), losses=LEVEL), "loss-never-falls"),
        (found(), trace_with(optimizer(), losses=GROWING), "loss-grew"),
        (found(), trace_with(optimizer(), alarm(60), losses=LEVEL), "training-broke"),
        (found("retained-graph"), trace_with(optimizer(), losses=LEVEL), "memory-grows"),
        (found("wrong-metric-reduction"), trace_with(optimizer(), losses=LEVEL), "evaluation-wrong"),
        (found(crash=0), trace_with(optimizer(), losses=LEVEL), "exception"),
        (found(crash=0, scope="lost-batches"), trace_with(losses=LEVEL), "lost-batches"),
        (found(births=(1,), scope="evaluation"), trace_with(evaluated("nan"), losses=LEVEL), "nan-in-evaluation"),
        (found(births=(1,), scope="evaluation"), trace_with(evaluated("inf"), losses=LEVEL), "infinity-in-evaluation"),
        (found(births=(1,), scope="evaluation"), trace_with(evaluated("nan")), "nan-computed"),
        (found(crash=0, births=(1,)), trace_with(alarm(3), losses=LEVEL), "training-broke"),
    ],
)  # fmt: skip
def test_the_effect_of_a_cause(finding, trace, effect):
    assert effect_of(finding, trace) == effect
