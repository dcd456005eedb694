"""A program that dies says what it would say without us: same traceback, same exit code, same own excepthook."""

from __future__ import annotations

import sys

import pytest

from tests.guest.pairs import PROGRAMS, Pairs, differences, names_us

NEEDS_NEWER = {"group"} if sys.version_info < (3, 11) else set()
DYING = sorted(
    path.stem for path in (PROGRAMS / "dying").glob("*.py") if path.stem not in NEEDS_NEWER
)


@pytest.fixture(scope="module", autouse=True)
def all_started(request: pytest.FixtureRequest, pairs: Pairs) -> None:
    """Start what the selected tests will ask for, so that two run at any time."""
    for item in request.session.items:
        if item.fspath == request.fspath and hasattr(item, "callspec"):
            for watched in (False, True):
                pairs.start(f"dying/{item.callspec.params['name']}", watched=watched)


@pytest.mark.parametrize("name", DYING)
def test_dying_program_says_what_it_would_say_bare(name: str, pairs: Pairs) -> None:
    bare, watched = (pairs.run(f"dying/{name}", watched=watched) for watched in (False, True))

    assert not bare.ended.timed_out
    assert differences(bare, watched, swears=False) == []
    assert names_us(watched.stderr) == []
