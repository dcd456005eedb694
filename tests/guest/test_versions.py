"""What torch counts and checks besides numbers is as without us: versions, nodes, the order of hooks, errors.

`_version` decides whether a backward pass that needs an overwritten weight raises or gives wrong gradients.
"""

from __future__ import annotations

import pytest

from tests.guest.pairs import Pairs, differences
from torchwhy.record.events import MicroscopeLeft, ProbeFailed

KINDS = (
    "sgd",
    "adam",
    "adam-loop",
    "adam-fused",
    "adamw",
    "adamw-fused",
    "rmsprop",
    "adagrad",
    "radam",
    "lbfgs",
    "own",
    "differentiable",
    "scaler",
    "mode-below",
    "mode-above",
)
RAISING = ("sgd", "adam", "own")  # torch counts no write of its fused optimizers on the CPU
PYTHON_KINDS = ("adam", "own", "scaler")


@pytest.fixture(scope="module", autouse=True)
def all_started(request: pytest.FixtureRequest, pairs: Pairs) -> None:
    """Start what the selected tests will ask for, so that two run at any time."""
    for item in request.session.items:
        if item.fspath == request.fspath and hasattr(item, "callspec"):
            for watched in (False, True):
                pairs.start("versions", watched=watched, arguments=(item.callspec.params["kind"],))


@pytest.mark.parametrize("kind", KINDS)
def test_versions_and_errors_of_every_step_are_those_of_a_bare_run(kind: str, pairs: Pairs) -> None:
    bare, watched = (
        pairs.run("versions", watched=watched, arguments=(kind,)) for watched in (False, True)
    )

    assert bare.ended.exit_code == 0, bare.stderr
    assert differences(bare, watched) == []
    assert [event for event in watched.events if isinstance(event, ProbeFailed)] == []
    looks = [event.step for event in watched.events if isinstance(event, MicroscopeLeft)]
    assert looks == [0] if kind == "lbfgs" else 25 in looks


@pytest.mark.parametrize("kind", PYTHON_KINDS)
def test_versions_are_the_same_without_the_accelerator(
    kind: str, pairs: Pairs, python_pairs: Pairs
) -> None:
    bare = pairs.run("versions", watched=False, arguments=(kind,))
    watched = python_pairs.run("versions", watched=True, arguments=(kind,))

    assert differences(bare, watched) == []


@pytest.mark.parametrize("kind", RAISING)
def test_backward_through_weights_written_at_the_observed_step_raises(
    kind: str, pairs: Pairs
) -> None:
    watched = pairs.run("versions", watched=True, arguments=(kind,))

    assert "modified by an inplace operation" in dict(watched.testimony)["25 stale"]
