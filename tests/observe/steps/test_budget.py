"""The budget spaces thorough steps by what they cost, and says so once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from torchwhy.observe.guest import Guests
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps import budget as budgets
from torchwhy.observe.steps.budget import DENSE_STEPS, MOST_STEPS, SPARSE_EVERY, Budget
from torchwhy.observe.steps.training_state import TrainingState


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(budgets.time, "thread_time", lambda: clock.now)
    return clock


class Run:
    """A run of which the budget sees steps, our own time, and how many steps cruised."""

    def __init__(self, share: float | None = None) -> None:
        self.written: list[Any] = []
        self.state = TrainingState()
        self.guests = Guests(self.written.append)
        self.quiet_steps = 0
        self.budget = Budget(
            cast("Recorder", SimpleNamespace(write=self.written.append)),
            self.state,
            self.guests,
            share=share,
            quiet_steps=lambda: self.quiet_steps,
        )


def after(run: Run, clock: SimpleNamespace, *, thorough: float, each: float) -> int:
    """Return the distance of the next sample after 100 steps of `each` seconds, one of them a thorough one."""
    run.state.step, run.quiet_steps = 100, 99
    clock.now, run.guests.seconds = 100 * each, thorough
    return run.budget.next_sample(100) - 100


def test_first_steps_are_all_sampled_and_the_fiftieth_always(clock):
    budget = Run().budget

    assert [budget.next_sample(n) for n in range(3)] == [1, 2, 3]
    assert budget.next_sample(DENSE_STEPS) == SPARSE_EVERY


def test_cheap_samples_keep_their_distance(clock):
    run = Run()

    assert after(run, clock, thorough=0.001, each=0.1) == SPARSE_EVERY
    assert run.written == []


def test_dear_samples_are_thinned_and_it_is_said_why(clock):
    run = Run()

    distance = after(run, clock, thorough=0.001, each=0.001)

    assert distance == pytest.approx(1 / (0.01 * 0.25), abs=1)
    (event,) = run.written
    assert event.what == "samples"
    assert "0.25% of the time" in event.reason


def test_a_larger_budget_buys_more_samples_and_a_tiny_one_is_bounded(clock):
    assert after(Run(0.5), clock, thorough=0.001, each=0.001) == SPARSE_EVERY
    assert after(Run(1e-6), clock, thorough=0.001, each=0.001) == MOST_STEPS


def test_samples_grow_rarer_with_the_length_of_the_run(clock):
    budget = Run(0.5).budget

    samples, step = 0, 0
    while step < 1_000_000:
        step = budget.next_sample(step)
        samples += 1
    assert samples < 500
