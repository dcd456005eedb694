"""The budget spaces thorough steps by what they cost, and says so once."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from torchwhy.observe.steps import budget as budgets
from torchwhy.observe.steps.budget import DENSE_STEPS, MOST_STEPS, SPARSE_EVERY, Budget


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(budgets.time, "perf_counter", lambda: clock.now)
    return clock


def session(share: float | None = None) -> SimpleNamespace:
    written: list[object] = []
    return SimpleNamespace(
        configuration={"options": {} if share is None else {"budget": share}},
        began=0.0,
        sentinel=SimpleNamespace(step=0),
        cruise=SimpleNamespace(steps=0),
        guests=SimpleNamespace(seconds=0.0),
        written=written,
        write=written.append,
    )


def after(watched: SimpleNamespace, clock: SimpleNamespace, *, thorough: float, each: float) -> int:
    """Return the distance of the next sample after 100 steps of `each` seconds, one of them a thorough one."""
    watched.sentinel.step, watched.cruise.steps = 100, 99
    clock.now, watched.guests.seconds = 100 * each, thorough
    return Budget(watched).next_sample(100) - 100


def test_first_steps_are_all_sampled_and_the_fiftieth_always(clock):
    budget = Budget(session())

    assert [budget.next_sample(n) for n in range(3)] == [1, 2, 3]
    assert budget.next_sample(DENSE_STEPS) == SPARSE_EVERY


def test_cheap_samples_keep_their_distance(clock):
    watched = session()

    assert after(watched, clock, thorough=0.001, each=0.1) == SPARSE_EVERY
    assert watched.written == []


def test_dear_samples_are_thinned_and_it_is_said_why(clock):
    watched = session()

    distance = after(watched, clock, thorough=0.001, each=0.001)

    assert distance == pytest.approx(1 / (0.01 * 0.25), abs=1)
    (event,) = watched.written
    assert event.what == "samples"
    assert "0.25% of the time" in event.reason


def test_a_larger_budget_buys_more_samples_and_a_tiny_one_is_bounded(clock):
    assert after(session(0.5), clock, thorough=0.001, each=0.001) == SPARSE_EVERY
    assert after(session(1e-6), clock, thorough=0.001, each=0.001) == MOST_STEPS


def test_samples_grow_rarer_with_the_length_of_the_run(clock):
    budget = Budget(session(0.5))

    samples, step = 0, 0
    while step < 1_000_000:
        step = budget.next_sample(step)
        samples += 1
    assert samples < 500
