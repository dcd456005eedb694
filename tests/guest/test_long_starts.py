"""What runs before the first step is sampled, a policy that plays is left alone, and two optimizers cruise."""

from __future__ import annotations

import pytest

from tests.guest.pairs import Pairs
from torchwhy.observe.native import records
from torchwhy.record.events import MicroscopeLeft
from torchwhy.record.learning import LossRoot, ParameterCensus
from torchwhy.replay.observing.switch import BEFORE_LEARNING, WORK_OF_CALLS

# Python functions of ours for two steps of two optimizers, with and without the accelerator: 500 off the cruise.
MOST_CALLS, MOST_CALLS_IN_PYTHON = 80, 200


def test_only_a_sample_of_what_runs_before_the_first_step_is_looked_at(pairs: Pairs) -> None:
    run = pairs.run("long_prelude", watched=True)

    (first, *_) = [one for one in run.events if isinstance(one, MicroscopeLeft)]

    assert BEFORE_LEARNING < first.operations < BEFORE_LEARNING + 1000
    assert not first.cut_short


def test_first_step_after_a_long_start_is_observed_whole(pairs: Pairs) -> None:
    events = pairs.run("long_prelude", watched=True).events

    (census,) = [one for one in events if isinstance(one, ParameterCensus)]

    assert census.step == 0
    assert all(one.requires_grad for one in census.parameters)
    assert any(isinstance(one, LossRoot) for one in events)


def test_numbers_and_the_collector_are_as_without_us(pairs: Pairs) -> None:
    bare, watched = (pairs.run("long_prelude", watched=kind) for kind in (False, True))

    assert bare.stdout == watched.stdout


def test_a_policy_that_plays_before_it_learns_is_left_alone(pairs: Pairs) -> None:
    bare, watched = (pairs.run("long_play", watched=kind) for kind in (False, True))

    (left,) = [one for one in watched.events if isinstance(one, MicroscopeLeft)]

    assert left.cut_short
    assert left.operations < WORK_OF_CALLS + BEFORE_LEARNING
    assert bare.stdout == watched.stdout


@pytest.mark.skipif(records.fast is None, reason="the accelerator was not built")
def test_two_optimizers_cruise_with_the_accelerator(pairs: Pairs) -> None:
    assert float(pairs.run("two_optimizers", watched=True).stdout) <= MOST_CALLS


def test_two_optimizers_cruise(python_pairs: Pairs) -> None:
    calls = float(python_pairs.run("two_optimizers", watched=True).stdout)

    assert 0 < calls <= MOST_CALLS_IN_PYTHON
