"""A file as text and as syntax: places, spans, edits."""

from __future__ import annotations

import ast

import pytest

from torchwhy.source.edits import Source

TEXT = """\
import torch

name = 'ü'; layer = nn.Linear(1050, 10)  # ends here


def train(model):
    for batch in loader:
        loss = model(
            batch,
        ).mean()
        with torch.no_grad():
            keep = lambda x: x + 1
    return loss
"""


def source(text: str = TEXT) -> Source:
    return Source("train.py", text)


def find(one: Source, text: str) -> ast.expr | ast.stmt:
    nodes = (node for node in ast.walk(one.tree) if isinstance(node, (ast.expr, ast.stmt)))
    return next(node for node in nodes if one.of(node) == text)


def test_columns_of_a_span_count_characters_not_bytes():
    one = source()

    span = one.span(find(one, "1050"))

    assert (span.line, span.column, span.end_column) == (3, 30, 34)
    assert one.lines[2][span.column : span.end_column] == "1050"


def test_span_leads_back_to_its_syntax():
    one = source()
    call = find(one, "nn.Linear(1050, 10)")

    span = one.span(call)

    assert one.syntax_at(span) is call
    assert one.at(span) is call


def test_span_of_a_loop_is_its_first_line():
    one = source()
    loop = next(iter(one.loops()))

    span = one.span(loop)

    assert (span.line, span.end_line) == (7, 7)
    assert span.expression == "for batch in loader:"
    assert span.function == "train"


def test_expression_over_several_lines_is_recorded_dedented():
    one = source()
    value = find(one, "model(\n            batch,\n        ).mean()")

    assert one.span(value).expression == "model(\n    batch,\n).mean()"


def test_long_expression_is_cut_off():
    one = source(f"x = [{', '.join(map(str, range(200)))}]\n")

    expression = one.span(one.tree.body[0]).expression or ""

    assert len(expression) == 201
    assert expression.endswith("…")
    assert one.still_holds(one.span(one.tree.body[0]))


def test_loops_end_at_the_function_around():
    one = source("for a in b:\n    def f():\n        while c:\n            d\n")
    inner = find(one, "d")

    assert [one.of(loop)[:5] for loop in one.loops_of(inner)] == ["while"]
    assert one.function_name(inner) == "f"


def test_replaced_expression_is_the_only_change_of_the_diff():
    one = source()

    diff = one.replaced(find(one, "1050"), "1568").splitlines()

    assert [line for line in diff if line[0] in "-+" and line[:3] not in ("---", "+++")] == [
        "-name = 'ü'; layer = nn.Linear(1050, 10)  # ends here",
        "+name = 'ü'; layer = nn.Linear(1568, 10)  # ends here",
    ]


@pytest.mark.parametrize("text", ["def broken(:\n", "x = \0\n", ""])
def test_text_that_is_no_python_has_no_syntax(text):
    assert source(text).tree.body == []
