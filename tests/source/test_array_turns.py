from __future__ import annotations

import ast

import pytest

from torchwhy.source.analyses.array_turns import is_turning, turning_behind


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("a[::-1]", True),
        ("a[:, ::-1]", True),
        ("np.flip(a)", True),
        ("flipud(a)", True),
        ("a[-1]", False),
        ("a[::2]", False),
        ("a.flatten()", False),
    ],
)
def test_reversed_views_are_told_from_other_items(text, turns):
    assert is_turning(ast.parse(text, mode="eval").body) is turns


def test_turn_is_found_behind_the_names_of_the_failing_expression():
    scope = ast.parse("image = load()\nmirrored = image[:, ::-1]\nx = torch.from_numpy(mirrored)\n")
    failing = ast.parse("torch.from_numpy(mirrored)", mode="eval").body

    found = turning_behind(failing, scope, 3)

    assert ast.unparse(found) == "image[:, ::-1]"
    assert found.lineno == 2
