"""A mode of the program counts in failing steps what it counts without torchwhy; healthy ones: test_bit_identity.py."""

from __future__ import annotations

from tests.guest.pairs import Pairs, differences
from torchwhy.record.events import Alarm, ProbeFailed

NAME = "modes/failing_steps"


def test_modes_count_the_same_in_steps_that_fail(pairs: Pairs) -> None:
    bare = pairs.run(NAME, watched=False)
    watched = pairs.run(NAME, watched=True, on_failure="continue")

    assert differences(bare, watched) == []
    assert any(isinstance(event, Alarm) for event in watched.events)
    assert not any(isinstance(event, ProbeFailed) for event in watched.events)


def test_modes_count_the_same_without_the_accelerator(pairs: Pairs, python_pairs: Pairs) -> None:
    for name, on_failure in ((NAME, "continue"), ("modes_around", "stop")):
        bare = pairs.run(name, watched=False)
        watched = python_pairs.run(name, watched=True, on_failure=on_failure)

        assert differences(bare, watched) == []
