"""Nothing of the program's lives longer than without us: models, batches, graphs, optimizers, exceptions."""

from __future__ import annotations

import pytest

from tests.guest.pairs import Pairs, differences
from torchwhy.record.events import ProbeFailed

SCENES = (
    "first",
    "second",
    "cruising",
    "workers",
    "cycle",
    "replaced",
    "loaded",
    "by_hand",
    "accumulated",
    "caught",
    "closures",
    "threads",
    "sweep",
    "evaluation",
    "resting",
)
PYTHON_SCENES = ("cruising", "replaced", "loaded", "accumulated")


@pytest.fixture(scope="module", autouse=True)
def all_started(request: pytest.FixtureRequest, pairs: Pairs) -> None:
    """Start what the selected tests will ask for, so that two run at any time."""
    for item in request.session.items:
        if item.fspath == request.fspath and hasattr(item, "callspec"):
            for watched in (False, True):
                scene = item.callspec.params["scene"]
                pairs.start("lifetimes", watched=watched, arguments=(scene,))


@pytest.mark.parametrize("scene", SCENES)
def test_everything_dies_when_it_dies_without_us(scene: str, pairs: Pairs) -> None:
    bare, watched = (
        pairs.run("lifetimes", watched=watched, arguments=(scene,)) for watched in (False, True)
    )

    assert bare.ended.exit_code == 0, bare.stderr
    assert bare.stdout.splitlines() == watched.stdout.splitlines()
    assert differences(bare, watched) == []
    assert [event for event in watched.events if isinstance(event, ProbeFailed)] == []


@pytest.mark.parametrize("scene", PYTHON_SCENES)
def test_everything_dies_in_time_without_the_accelerator(
    scene: str, pairs: Pairs, python_pairs: Pairs
) -> None:
    bare = pairs.run("lifetimes", watched=False, arguments=(scene,))
    watched = python_pairs.run("lifetimes", watched=True, arguments=(scene,))

    assert bare.stdout.splitlines() == watched.stdout.splitlines()
