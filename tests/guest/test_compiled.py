"""Torch's compiler makes the same of a watched program as of a bare one: graphs, guards and recompilations."""

from __future__ import annotations

import pytest

from tests.guest.pairs import PROGRAMS, Pairs, differences, names_us
from torchwhy.record.events import Alarm, CompilerEntered, ProbeFailed, Step

COMPILING = sorted(
    f"compiling/{path.stem}"
    for path in (PROGRAMS / "compiling").glob("*.py")
    if path.stem != "compiler_witness"
)
IN_PYTHON = ["compiling/first_forward", "compiling/graph_breaks"]
# Their optimizer steps are not part of compiled code.
STEPS = {"compiling/module": 71, "compiling/after_training": 83, "compiling/first_forward": 60}


@pytest.fixture(scope="module", autouse=True)
def all_started(request: pytest.FixtureRequest, pairs: Pairs) -> None:
    """Start what the selected tests will ask for, so that two run at any time."""
    for item in request.session.items:
        if item.fspath == request.fspath and item.originalname == test_same_graphs.__name__:
            for watched in (False, True):
                pairs.start(item.callspec.params["name"], watched=watched)


@pytest.mark.parametrize("name", COMPILING)
def test_same_graphs(name: str, pairs: Pairs) -> None:
    bare, watched = pairs.run(name, watched=False), pairs.run(name, watched=True)

    assert bare.ended.exit_code == 0, bare.stderr
    assert differences(bare, watched) == []
    assert names_us(watched.stderr) == []
    assert [e for e in watched.events if isinstance(e, (ProbeFailed, Alarm))] == []
    assert len([e for e in watched.events if isinstance(e, CompilerEntered)]) == 1


@pytest.mark.parametrize("name", IN_PYTHON)
def test_same_graphs_without_the_accelerator(name: str, pairs: Pairs, python_pairs: Pairs) -> None:
    bare, watched = pairs.run(name, watched=False), python_pairs.run(name, watched=True)

    assert differences(bare, watched) == []


@pytest.mark.parametrize("name", STEPS)
def test_steps_outside_of_compiled_code_are_recorded(name: str, pairs: Pairs) -> None:
    watched = pairs.run(name, watched=True)

    steps = [e for e in watched.events if isinstance(e, Step)]
    assert len(steps) == STEPS[name]
    assert all(step.losses for step in steps)
