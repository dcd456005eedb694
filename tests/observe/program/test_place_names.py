"""A place has one name, whatever this Python says of it: in a comprehension, and where a loop fetches an item."""

from __future__ import annotations

import sys

import pytest

from torchwhy.observe.program.frames import Site, span_of

PROGRAM = """
listed = [here() for _ in range(1)]

def grown():
    return {here() for _ in range(1)}

class Table:
    rows = {1: here() for _ in range(1)}

    def column(self):
        return [[here() for _ in range(1)] for _ in range(1)]

quick = lambda: [here() for _ in range(1)]
lazy = ([here() for _ in range(1)] for _ in range(1))

def epoch(loader):
    for x, y in enumerate(
        loader
    ):  # a batch
        pass
    for x in loader: pass
"""


class Loader:
    """Notes where an item is asked for."""

    def __init__(self, here):
        self.here = here

    def __iter__(self):
        return self

    def __next__(self):
        self.here(2)
        raise StopIteration


@pytest.fixture
def names(tmp_path):
    """Run the program; return what the places of its calls of `here` are called, when asked."""
    path, found = tmp_path / "train.py", []
    path.write_text(PROGRAM)

    def here(depth=1):
        frame = sys._getframe(depth)
        found.append(span_of(Site(frame.f_code, frame.f_lasti)))
        return len(found)

    program = {"here": here, "__name__": "train"}
    exec(compile(PROGRAM, str(path), "exec"), program)
    return program, lambda: [(span.function, span.expression) for span in found]


def test_a_comprehension_is_named_after_the_code_around_it(names):
    program, found = names

    program["grown"]()
    program["Table"]().column()
    program["quick"]()
    list(program["lazy"])

    functions = ["<module>", "Table", "grown", "column", "<lambda>", "<genexpr>"]
    assert found() == [(name, "here()") for name in functions]


def test_a_loop_that_fetches_an_item_is_told_by_its_header(names):
    program, found = names

    program["epoch"](Loader(program["here"]))

    assert found()[-2:] == [
        ("epoch", "for x, y in enumerate("),
        ("epoch", "for x in loader: pass"),
    ]
