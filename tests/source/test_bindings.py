"""Where names get their values."""

from __future__ import annotations

import ast
import textwrap

import pytest

from torchwhy.source import bindings


def parsed(text: str) -> ast.Module:
    return ast.parse(textwrap.dedent(text))


def values(text: str, name: str) -> list[str]:
    return [ast.unparse(value) for value in bindings.values_given(parsed(text), name)]


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("x = 1\nx = 2", "x", ["1", "2"]),
        ("x: int = 1", "x", ["1"]),
        ("x = y = f()", "y", ["f()"]),
        ("self.x = f()", "self.x", ["f()"]),
        ("a, b = 1, 2", "b", ["2"]),
        ("a, b = f()", "b", []),  # a part of the value, and nobody knows which
        ("x += 1", "x", []),
        ("for x in y: pass", "x", []),
        ("if (x := f()): pass", "x", ["f()"]),
        ("def g():\n    x = 1", "x", []),
    ],
)
def test_values_of_a_name_are_whole_expressions(text, name, expected):
    assert values(text, name) == expected


def test_bindings_of_a_name_also_are_loops_and_sums():
    scope = parsed("for x in y: pass\nx += 1\na, x = f()")

    found = bindings.bindings(scope, "x")

    assert [value and ast.unparse(value) for _, value in found] == [None, "1", "f()"]


def test_last_binding_is_the_nearest_above_else_the_last_of_the_loop():
    scope = parsed("h = 1\nfor x in y:\n    use(h)\n    h = 2\n")

    assert bindings.last_binding(scope, "h", line=3)[0].lineno == 1
    assert bindings.last_binding(scope, "h", line=1)[0].lineno == 4


def test_names_behind_an_expression_go_through_assignments_and_loops():
    scope = parsed("width = base * 2\nfor width2 in sizes:\n    n = width + width2\n")
    wanted = ast.parse("n", mode="eval").body

    assert bindings.names_behind(wanted, scope, most=20) == {
        "n",
        "width",
        "base",
        "width2",
        "sizes",
    }


@pytest.mark.parametrize(
    ("function", "own"),
    [
        ("def f(x): pass", True),
        ("def f():\n    x = 1", True),
        ("def f():\n    global x\n    x = 1", False),
        ("def f():\n    use(x)", False),
    ],
)
def test_name_is_a_functions_own_if_it_is_given_there(function, own):
    assert bindings.binds(parsed(function).body[0], "x") is own
