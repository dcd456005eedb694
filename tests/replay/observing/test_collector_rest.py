"""What a rest of the garbage collector spares the program is counted, because it is a part of the true cost."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from time import thread_time

import pytest

from torchwhy.replay.observing.collector_rest import CollectorRest


@pytest.fixture(autouse=True)
def usual_thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python collects old garbage bit by bit")
def test_rest_spares_what_python_would_have_searched():
    rest = CollectorRest()
    rest.begin()
    kept = [[number] for number in range(400_000)]
    spared = rest.end()

    began = thread_time()
    gc.collect()
    once = thread_time() - began

    assert len(kept) == 400_000
    assert gc.get_threshold() == (700, 10, 10)
    assert 0.5 * once < spared < 8 * once  # several searches while the objects became many


def test_rest_without_new_objects_spares_nothing():
    rest = CollectorRest()
    gc.collect()
    rest.begin()

    assert rest.end() < 0.01


def test_thresholds_that_the_program_sets_meanwhile_stay():
    rest = CollectorRest()
    rest.begin()
    gc.set_threshold(500, 5, 5)

    assert rest.end() == 0.0
    assert gc.get_threshold() == (500, 5, 5)
