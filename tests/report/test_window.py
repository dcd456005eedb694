"""Long lines of source: what matters must be in view."""

from __future__ import annotations

import io

from rich.console import Console

from torchwhy.report.window import DiffLines, SourceLine, changes_in, diff_lines, first_column


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


def test_labels_stand_under_their_columns_the_rightmost_first():
    line = SourceLine("7 │ ", "f(x, y)", 0, 7, "red", ((2, "was 0"), (5, "was 1")))

    assert shown(line, width=40) == [
        "7 │ f(x, y)",
        "  │ ^^^^^^^",
        "  │   │  └ was 1",
        "  │   └ was 0",
    ]


def test_a_label_without_room_on_the_right_stands_on_the_left():
    text = "probabilities = f(logits)"
    line = SourceLine("7 │ ", text, 16, 25, "red", ((18, "float32 4×4"),))

    *_, label = shown(line, width=30)

    assert label == "  │       float32 4×4 ┘"


def test_a_replaced_line_is_shown_without_its_neighbours():
    diff = "--- a/t.py\n+++ b/t.py\n@@ -3,3 +3,3 @@\n a\n-b\n+c\n d\n"

    assert diff_lines(diff, "t.py") == ["-b", "+c"]
    assert diff_lines(diff, "other.py") == ["@@ t.py:4", "-b", "+c"]


def test_an_added_line_keeps_its_neighbours_and_a_moved_one_what_is_between():
    added = "--- a/t.py\n+++ b/t.py\n@@ -3,2 +3,3 @@\n a\n+b\n c\n"
    moved = "--- a/t.py\n+++ b/t.py\n@@ -3,4 +3,4 @@\n a\n-b\n c\n+b\n d\n"

    assert diff_lines(added, "t.py") == [" a", "+b", " c"]
    assert diff_lines(moved, "t.py") == ["-b", " c", "+b"]
