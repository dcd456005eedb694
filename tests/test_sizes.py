"""One idea per file: a module stays under 400 lines, a function under 50."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "torchwhy"
MODULE_LINES = 400
FUNCTION_LINES = 50
MODULES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_modules_and_functions_are_short(path):
    text = path.read_text(encoding="utf8")

    long_functions = [
        f"{node.name}: {_lines(node)} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and _lines(node) >= FUNCTION_LINES
    ]

    assert len(text.splitlines()) < MODULE_LINES
    assert long_functions == []


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1
