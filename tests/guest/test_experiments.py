"""A run that does not learn is looked at and measured, and its hooks are left alone."""

from __future__ import annotations

from tests.guest.pairs import Pairs
from torchwhy.record.learning import Activation, Experiment
from torchwhy.replay.experiments.curvature import QUESTION


def test_resting_growing_and_dying_runs_are_looked_at(pairs: Pairs) -> None:
    watched = pairs.run("rests_and_grows", watched=True)

    looks = {event.step for event in watched.events if isinstance(event, Activation)}
    measured = [
        event
        for event in watched.events
        if isinstance(event, Experiment) and event.question == QUESTION
    ]

    assert {0, 25, 50} <= looks
    assert {event.answer["optimizer"] for event in measured} >= {0}
    assert all("curvature" in event.answer for event in measured)


def test_a_program_with_hooks_on_tensors_is_not_differentiated_again(pairs: Pairs) -> None:
    watched = pairs.run("rests_and_grows", watched=True)

    hooked = 3

    assert [
        e
        for e in watched.events
        if isinstance(e, Experiment)
        and e.answer.get("optimizer") == hooked
        and e.question == QUESTION
    ] == []
