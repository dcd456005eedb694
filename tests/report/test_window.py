"""Long lines of source: what matters must be in view."""

from __future__ import annotations

import io

from rich.console import Console

from torchwhy.report.window import DiffLines, SourceLine, changes_in, first_column


def shown(renderable: object, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(renderable)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue().rstrip("\n").split("\n")


def test_a_short_line_is_shown_from_its_beginning():
    assert first_column("x = 1", 0, 5, width=40) == 0


def test_the_marked_expression_of_a_long_line_is_in_view():
    text = "net = Sequential(" + "ReLU(), " * 12 + "Linear(16, 4))"
    start = text.index("Linear")

    code, carets = shown(SourceLine("7 │ ", text, start, len(text) - 1, "red"), width=50)

    assert "Linear(16, 4)" in code
    assert code[carets.index("^") :].startswith("Linear(16, 4)")


def test_both_versions_of_a_changed_long_line_show_the_change():
    before = "-net = Sequential(" + "ReLU(), " * 12 + "Linear(16, 4))"
    after = before.replace("-", "+", 1).replace("16", "1568")

    old, new = shown(DiffLines((before, after)), width=50)

    assert "Linear(16, 4)" in old
    assert "Linear(1568, 4)" in new


def test_an_unchanged_line_of_a_diff_has_no_change():
    assert list(changes_in((" same", "-a = 1", "+a = 2"))) == [(0, 0), (4, 5), (4, 5)]
