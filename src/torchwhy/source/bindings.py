"""Names and their values: where a name gets a value, and who reads it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchwhy.source.text import Text


def assignments(name: str, *, within: ast.AST) -> list[ast.stmt]:
    """Return the statements of a scope that give a name a value, also as loop variables and in tuples."""
    found = []
    for node in ast.walk(within):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.For):
            targets = [node.target]
        words = (word for target in targets for word in ast.walk(target))
        if isinstance(node, ast.stmt) and any(
            isinstance(word, ast.Name) and word.id == name and isinstance(word.ctx, ast.Store)
            for word in words
        ):
            found.append(node)
    return found


def value_of_name(source: Text, node: ast.expr) -> ast.expr | None:
    """Return the expression a name was given, if it was given just one and that still means the same here."""
    if not isinstance(node, ast.Name):
        return None
    made = assignments(node.id, within=source.scope_of(node))
    if len(made) != 1 or not isinstance(made[0], ast.Assign) or made[0].lineno >= node.lineno:
        return None
    if len(made[0].targets) != 1 or not isinstance(made[0].targets[0], ast.Name):
        return None
    value = made[0].value
    between = range(made[0].lineno + 1, node.lineno)
    for name in names_in(value):
        changed = assignments(name, within=source.scope_of(node))
        if any(statement.lineno in between for statement in changed):
            return None
    return value


def uses(name: str, *, within: ast.AST) -> int:
    """Return how often a scope reads a name."""
    return sum(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        for node in ast.walk(within)
    )


def names_in(node: ast.AST) -> set[str]:
    """Return the names that an expression reads."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
