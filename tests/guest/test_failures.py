"""A program that fails and goes on: `continue` changes nothing at all, `skip` the poisoned update alone."""

from __future__ import annotations

import pytest

from tests.guest.pairs import Pairs, differences
from torchwhy.record.events import Alarm, ProbeFailed, Replayed

CONTINUED = (
    "loader 0",
    "loader 5",
    "loader 30",
    "slices 5",
    "workers 5",
    "accumulated 6",
    "lbfgs 5",
    "own 5",
    "scaler 5",
    "adversaries 5",
    "manual 5",
    "evaluation 0",
    "raises 5",
)
SKIPPED = (
    "loader 0",
    "loader 5",
    "loader 30",
    "slices 5",
    "accumulated 6",
    "lbfgs 5",
    "closure 5",
    "own 0",
    "own 5",
    "fused 30",
)
UNJUDGED = ("scaler 5",)  # the scaler skips those steps itself


@pytest.fixture(scope="module", autouse=True)
def all_started(request: pytest.FixtureRequest, pairs: Pairs) -> None:
    """Start what the selected tests will ask for, so that two run at any time."""
    for item in request.session.items:
        if item.fspath != request.fspath or not hasattr(item, "callspec"):
            continue
        arguments = tuple(item.callspec.params["case"].split())
        by_hand = ("by-hand",) if "skip" in item.name else ()
        mode = "skip" if by_hand else "continue"
        pairs.start("failing", watched=False, arguments=(*arguments, *by_hand))
        pairs.start("failing", watched=True, arguments=arguments, on_failure=mode)


@pytest.mark.parametrize("case", CONTINUED)
def test_continue_is_as_if_torchwhy_were_not_there(case: str, pairs: Pairs) -> None:
    arguments = tuple(case.split())
    bare = pairs.run("failing", watched=False, arguments=arguments)
    watched = pairs.run("failing", watched=True, arguments=arguments, on_failure="continue")

    assert bare.ended.exit_code == (1 if "raises" in case else 0), bare.stderr
    assert differences(bare, watched) == []
    assert [event for event in watched.events if isinstance(event, ProbeFailed)] == []
    alarms = [event for event in watched.events if isinstance(event, Alarm)]
    assert bool(alarms) == (case not in UNJUDGED)
    assert not any(alarm.withheld for alarm in alarms)


@pytest.mark.parametrize("case", SKIPPED)
def test_skip_leaves_out_the_bad_update_and_nothing_else(case: str, pairs: Pairs) -> None:
    arguments = tuple(case.split())
    by_hand = pairs.run("failing", watched=False, arguments=(*arguments, "by-hand"))
    watched = pairs.run("failing", watched=True, arguments=arguments, on_failure="skip")

    assert by_hand.ended.exit_code == 0, by_hand.stderr
    assert differences(by_hand, watched) == []
    alarms = [event for event in watched.events if isinstance(event, Alarm)]
    assert len(alarms) == 2
    assert all(alarm.withheld for alarm in alarms)
    assert not any(
        isinstance(event, Replayed) and event.how == "in-place" for event in watched.events
    )


def test_step_of_an_own_optimizer_is_repeated_in_place(pairs: Pairs) -> None:
    """It does not expect a parameter without a gradient, so its update is undone and not prevented."""
    watched = pairs.run("failing", watched=True, arguments=("own", "5"))

    (replayed,) = [event for event in watched.events if isinstance(event, Replayed)]
    assert (replayed.how, replayed.reproduced) == ("in-place", True)
    assert watched.ended.exit_code == 1
    assert watched.stderr == ""
