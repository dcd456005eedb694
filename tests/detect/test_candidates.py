"""Searches over settings: what another candidate outdid is noted, what went wrong by itself is reported."""

from __future__ import annotations

import random

from tests.detect.helpers import optimizer
from tests.support.findings import said
from torchwhy.detect.causes.dynamics.overfitting import Overfitting
from torchwhy.detect.causes.dynamics.stuck_loss import StuckLoss
from torchwhy.detect.views.training.sweeps import judged_among
from torchwhy.detect.views.training.training import trainings
from torchwhy.finding import Finding, SourceSpan
from torchwhy.record.events import Event, OptimizerDescribed, OptimizerMade, Step
from torchwhy.record.learning import Evaluated
from torchwhy.record.trace import Trace

FLAT = [1.0] * 60
FALLING = [0.95**step for step in range(60)]


def candidate(index: int, losses: list[float], *, lr: float, start: int = 0) -> list[Event]:
    shapes = [[4, 3], [4]]
    return [
        OptimizerMade(index=index, kind="SGD", defaults={"lr": lr}),
        OptimizerDescribed(
            index=index, parameters=["w", "b"], shapes=shapes, dtypes=["float32"] * 2
        ),
        *(
            Step(step=start + n, optimizer=index, losses=[loss], milliseconds=1.0)
            for n, loss in enumerate(losses)
        ),
    ]


def severity_of_the_first(*events: Event) -> str:
    trace = Trace(events)
    finding = Finding(detector="any", severity="error", diagnosis=said("bad"), step=0)
    return judged_among(finding, next(iter(trainings(trace))), trace).severity


def test_candidate_that_another_one_outdid_is_only_noted() -> None:
    bad, good = candidate(0, FLAT, lr=1e-9), candidate(1, FALLING, lr=0.1, start=60)

    assert severity_of_the_first(*bad, *good) == "note"


def test_candidates_that_all_fail_are_reported() -> None:
    first, second = candidate(0, FLAT, lr=1e-9), candidate(1, FLAT, lr=1e-8, start=60)

    assert severity_of_the_first(*first, *second) == "error"


def test_phase_that_goes_on_where_another_ended_is_reported() -> None:
    worse = [0.05] * 60
    second, first = candidate(0, worse, lr=5.0), candidate(1, FALLING, lr=0.1, start=60)

    assert severity_of_the_first(*second, *first) == "error"


def test_folds_with_the_same_settings_are_no_candidates() -> None:
    first, second = candidate(0, FLAT, lr=0.1), candidate(1, FALLING, lr=0.1, start=60)

    assert severity_of_the_first(*first, *second) == "error"


def test_slow_fall_is_told_apart_from_a_floor() -> None:
    noise = random.Random(1)
    slow = [2.30 - 1e-4 * step + noise.gauss(0, 0.002) for step in range(300)]
    level = [2.30 + noise.gauss(0, 0.002) for _ in range(300)]

    def told(losses: list[float]) -> str:
        (finding,) = StuckLoss().scan(Trace((optimizer(), *candidate(0, losses, lr=0.1)[2:])))
        return finding.message

    assert "hardly fell" in told(slow)
    assert told(slow).endswith("it still falls, but slowly")
    assert told(level).endswith("it may be at its floor")


def test_evaluations_of_models_trained_in_turn_are_no_curve() -> None:
    turns = [
        Step(step=n, optimizer=n % 2, losses=[0.95 ** (n // 2)], milliseconds=1.0)
        for n in range(120)
    ]
    made = [OptimizerMade(index=i, kind="SGD", defaults={"lr": 0.1}) for i in range(2)]
    curve = Evaluated(
        location=SourceSpan("train.py", 9),
        steps=list(range(12, 121, 12)),
        values=[1.0, 0.5, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    )

    assert not list(Overfitting().scan(Trace((*made, *turns, curve))))
    alone = [
        Step(step=step.step, optimizer=0, losses=step.losses, milliseconds=1.0) for step in turns
    ]
    assert list(Overfitting().scan(Trace((*made, *alone, curve))))
