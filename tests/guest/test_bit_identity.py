"""Watched training gives the same bits as bare training: losses, gradients, weights, states, random streams."""

from __future__ import annotations

import pytest

from tests.guest.pairs import PROGRAMS, Pairs, differences
from torchwhy.record.events import Alarm, ProbeFailed

TOLD = {
    "watched_inside",
    "killed_any_time",
    "two_ranks",
    "drawn_by_ranks",
    "sharded_ranks",
    "forked_ranks",
    "counted",
    "inductor",
    "edited_meanwhile",
    "versions",
    "failing",
    "lifetimes",
    "two_optimizers",
}  # these have tests of their own
# These are for test_faults.py.
SABOTAGED = {"blind_microscope", "breaks_while_cruising", "full_disk", "no_run_directory"}
HEALTHY = sorted({path.stem for path in PROGRAMS.glob("*.py")} - SABOTAGED - TOLD - {"witness"})


@pytest.fixture(scope="module", autouse=True)
def all_started(request: pytest.FixtureRequest, pairs: Pairs) -> None:
    """Start what the selected tests will ask for, so that two run at any time."""
    for item in request.session.items:
        if item.fspath == request.fspath and hasattr(item, "callspec"):
            for watched in (False, True):
                pairs.start(item.callspec.params["name"], watched=watched)


@pytest.mark.parametrize("name", HEALTHY)
def test_watched_program_gives_the_same_bits(name: str, pairs: Pairs) -> None:
    bare, watched = pairs.run(name, watched=False), pairs.run(name, watched=True)

    assert not bare.ended.timed_out
    assert bare.ended.exit_code == 0, bare.stderr
    assert differences(bare, watched) == []
    assert [e for e in watched.events if isinstance(e, (ProbeFailed, Alarm))] == []


def test_spawned_workers_of_a_loader_are_not_watched(pairs: Pairs) -> None:
    watched = pairs.run("spawned_workers", watched=True)

    assert [path.name for path in (watched.folder / "run").glob("rank*.jsonl")] == ["rank0.jsonl"]
