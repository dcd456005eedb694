"""When a running program is looked at: early, then rarely, and for less than one percent of the time."""

from __future__ import annotations

from itertools import pairwise

import pytest

from torchwhy.follow.look_times import LONGEST_SECONDS, LookTimes

DAY = 86400.0


def looks_of(seconds: float, cost: float) -> list[float]:
    """Return the ages at which a run of this length is looked at, if each look costs this much."""
    times = LookTimes()
    ages = [times.first]
    while ages[-1] < seconds:
        ages.append(ages[-1] + times.until_next(ages[-1], cost))
    return ages[:-1]


def test_a_run_is_told_within_seconds_of_the_first_look():
    assert looks_of(20.0, 0.01) == pytest.approx([10.0, 12.5, 15.625, 19.53], abs=0.01)


def test_a_short_run_is_not_looked_at():
    assert looks_of(9.0, 0.01) == []


@pytest.mark.parametrize("cost", [0.01, 0.1, 1.0])
def test_looking_takes_less_than_a_percent_of_a_long_run(cost):
    looks = looks_of(3 * DAY, cost)

    assert len(looks) * cost < 0.01 * 3 * DAY
    assert max(b - a for a, b in pairwise(looks)) <= LONGEST_SECONDS + 1e-6


def test_an_expensive_look_is_repeated_late():
    assert LookTimes().until_next(20.0, 2.0) == pytest.approx(400.0)


def test_a_large_trace_is_first_looked_at_when_that_is_a_small_share_of_the_run():
    times = LookTimes()

    assert times.too_early_by(10.0, 100_000) == 0.0
    assert times.too_early_by(10.0, 10_000_000) == pytest.approx(130.0)
    assert times.too_early_by(140.0, 10_000_000) == pytest.approx(0.0)
