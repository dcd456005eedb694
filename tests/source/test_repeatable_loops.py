"""Which loop a statement is in, where its body begins, and what the body carries from one time to the next."""

from __future__ import annotations

import ast

import pytest

from torchwhy.source.analyses.repeatable_loops import RepeatableLoop, loop_around


def _loop(text: str) -> RepeatableLoop | None:
    """Return the loop around the line that says `step()`."""
    line = next(n for n, one in enumerate(text.splitlines(), 1) if "step()" in one)
    return loop_around(ast.parse(text), line)


def test_the_innermost_loop_with_the_step_in_its_body_is_found():
    loop = _loop(
        "for e in epochs:\n    for i in rows:\n        x = data[i]\n        step()\n    done()\n"
    )

    assert loop is not None
    assert (loop.header, loop.first, loop.body) == (range(2, 3), range(3, 4), range(3, 5))
    assert not loop.carried
    assert not loop.counters


@pytest.mark.parametrize(
    "text",
    [
        "step()\n",
        "for i in rows: step()\n",
        "for i in rows:\n    pass\nelse:\n    step()\n",
        "for i in rows:\n    def later():\n        pass\nstep()\n",
    ],
)
def test_a_step_without_a_loop_of_several_lines_has_none(text):
    assert _loop(text) is None


def test_a_counter_is_told_with_its_increase_only_if_it_ran_before_the_step():
    loop = _loop("while k < 9:\n    k += 1\n    n -= 2\n    step()\n    later += 1\n")

    assert loop is not None
    assert loop.counters == {"k": 1, "n": -2}


def test_a_variable_that_is_read_before_it_is_written_is_carried():
    loop = _loop(
        "for x in rows:\n    x = x.log()\n    y = x + 1\n    total = total + y\n    step()\n"
    )

    assert loop is not None
    assert loop.carried == {"x", "total"}


def test_execution_is_not_moved_out_of_an_open_with_or_try():
    loop = _loop("for x in rows:\n    with scope():\n        step()\n    after()\n")

    assert loop is not None
    assert [loop.may_leave(line) for line in (1, 2, 3, 4, 5)] == [True, False, False, True, False]
