"""Optimizers that begin later are looked at: each kind once, from its making on, or at its second step."""

from __future__ import annotations

from tests.guest.pairs import Pairs
from torchwhy.record.events import MicroscopeLeft
from torchwhy.record.learning import LossRoot, ParameterCensus


def test_each_kind_of_optimizer_is_looked_at_once(pairs: Pairs) -> None:
    events = pairs.run("phases", watched=True).events

    looks = {one.look: one for one in events if isinstance(one, ParameterCensus)}

    # The second is made at step 40, the students' at 80, 88 and 96; the one that was made early begins at 104.
    assert {look: (one.optimizer, one.step) for look, one in looks.items()} == {
        0: (1, 0),
        1: (2, 40),
        2: (3, 80),
        3: (0, 105),
    }
    assert {one.look for one in events if isinstance(one, LossRoot)} == {0, 1, 2, 3}


def test_look_ends_with_the_step_it_was_for(pairs: Pairs) -> None:
    events = pairs.run("phases", watched=True).events

    left = [one for one in events if isinstance(one, MicroscopeLeft)]

    assert [one.step for one in left if "later phase" in one.reason] == [40, 80, 105]
    assert sum(one.seconds for one in left[-1:]) < 2.0
    assert not any(one.cut_short for one in left)


def test_a_fault_of_the_microscope_cuts_the_look_short(pairs: Pairs) -> None:
    events = pairs.run("blind_microscope", watched=True).events

    left = [one for one in events if isinstance(one, MicroscopeLeft)]

    assert {one.cut_short for one in left} == {True}


def test_frozen_and_resting_parameters_of_earlier_phases_are_no_concern(pairs: Pairs) -> None:
    events = pairs.run("phases", watched=True).events

    (last,) = [one for one in events if isinstance(one, ParameterCensus) and one.look == 3]

    trained = {one.name for one in last.parameters if one.requires_grad}
    assert {name.partition(".")[0] for name in trained} == {"decoder"}
