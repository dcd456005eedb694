"""What a stretch of source reads before it writes."""

from __future__ import annotations

import ast

import pytest

from torchwhy.source.analyses.running_order import touches


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("out, h = rnn(x, h)", True),
        ("h += f(x)", True),
        ("h.append(f(x))", True),
        ("if h is None:\n    h = zeros()\nh = cell(x, h)", True),
        ("h.detach()\nh = cell(x, h)", True),
        ("h = h.detach()\nout, h = rnn(x, h)", False),
        ("h = zeros(h.size(0))\nout, h = rnn(x, h)", False),
        ("h = f(x)\nloss = g(h)", False),
    ],
)
def test_first_touch_of_a_state(text, is_read):
    first = next(touch for touch in touches(ast.parse(text).body) if touch.name == "h")

    assert first.is_read is is_read


def test_attributes_are_names_of_their_own():
    seen = [
        (touch.name, touch.is_read)
        for touch in touches(ast.parse("self.h = self.cell(x, self.h)").body)
    ]

    assert seen == [("self", True), ("x", True), ("self.h", True), ("self.h", False)]
