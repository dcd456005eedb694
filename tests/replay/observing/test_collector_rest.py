"""The garbage collector rests while steps are observed, and works as the program wants it afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from torchwhy.replay.observing.collector_rest import CollectorRest


@pytest.fixture(autouse=True)
def usual_thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_old_objects_are_not_searched_during_the_rest():
    rest = CollectorRest()
    rest.begin()
    before = gc.get_stats()[2]["collections"]
    kept = [[number] for number in range(400_000)]
    after = gc.get_stats()[2]["collections"]
    rest.end()

    assert len(kept) == 400_000
    assert after == before
    assert gc.get_threshold() == (700, 10, 10)


def test_thresholds_that_the_program_sets_meanwhile_stay():
    rest = CollectorRest()
    rest.begin()
    gc.set_threshold(500, 5, 5)
    rest.end()

    assert gc.get_threshold() == (500, 5, 5)
