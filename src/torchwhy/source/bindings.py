"""Names and their values: where a name gets a value, and who reads it."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

from torchwhy.source.scopes import inside, line_at, parameters_of

if TYPE_CHECKING:
    from torchwhy.source.text import Text

Binding = tuple[ast.AST, ast.expr | None]  # a statement, and the expression it gives
BINDING = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr, ast.For, ast.AsyncFor)


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


def reference(node: ast.AST) -> str | None:
    """Return `h` or `self.h` for a plain name or an attribute of one; None for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        holder = reference(node.value)
        return f"{holder}.{node.attr}" if holder is not None else None
    return None


def targets_of(statement: ast.AST) -> list[tuple[ast.expr, ast.expr | None]]:
    """Return what a statement assigns, each with the expression it gets.

    Of `a, b = f()` both get the whole expression; a loop variable gets None.
    """
    if isinstance(statement, ast.Assign):
        pairs: list[tuple[ast.expr, ast.expr | None]] = [
            (target, statement.value) for target in statement.targets
        ]
    elif isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
        pairs = [(statement.target, statement.value)] if statement.value is not None else []
    elif isinstance(statement, ast.NamedExpr):
        pairs = [(statement.target, statement.value)]
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        pairs = [(statement.target, None)]
    else:
        return []
    return [one for target, value in pairs for one in _unpacked(target, value)]


def _unpacked(target: ast.expr, value: ast.expr | None) -> list[tuple[ast.expr, ast.expr | None]]:
    if not isinstance(target, (ast.Tuple, ast.List)):
        return [(target, value)]
    values: list[ast.expr | None] = [value] * len(target.elts)
    if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
        values = [*value.elts]
    return [
        pair for one, part in zip(target.elts, values, strict=True) for pair in _unpacked(one, part)
    ]


def bindings(scope: ast.AST, name: str) -> list[Binding]:
    """Return the statements of a scope that give a name (`x`, `self.x`) a value, with that expression."""
    return list(_bindings_of(scope).get(name, ()))


@lru_cache(maxsize=64)  # the formula of a loss asks for one name of a scope after another
def _bindings_of(scope: ast.AST) -> dict[str, list[Binding]]:
    """Return all bindings of a scope by name, each in the order of the source."""
    found: dict[str, list[Binding]] = {}
    for statement in inside(scope):
        if isinstance(statement, BINDING):
            for target, value in targets_of(statement):
                name = reference(target)
                if name is not None:
                    found.setdefault(name, []).append((statement, value))
    return found


def last_binding(scope: ast.AST, name: str, line: int) -> Binding | None:
    """Return what gave a name its value as seen at a line: the nearest above, else the last of the scope."""
    found = bindings(scope, name)
    above = [binding for binding in found if line_at(binding[0]) < line]
    return max(above or found, key=lambda binding: line_at(binding[0]), default=None)


def values_given(scope: ast.AST, name: str) -> list[ast.expr]:
    """Return the expressions that are assigned to a name in a scope, each the whole value of the name."""
    found = []
    for statement in inside(scope):
        if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
            continue
        whole = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        found += [
            value
            for target, value in targets_of(statement)
            if value is not None
            and reference(target) == name
            and (value is not statement.value or target in whole)
        ]
    return found


def binds(function: ast.AST, name: str) -> bool:
    """Tell whether a name is a function's own: its parameter, or assigned in it and not declared global."""
    stored = name in parameters_of(function)
    for node in ast.walk(function):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
            return False
        stored |= isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    return stored


def names_behind(node: ast.expr, scope: ast.AST, *, most: int) -> set[str]:
    """Return the names an expression depends on, through assignments and loops of the same scope."""
    found: set[str] = set()
    waiting = [node]
    while waiting and len(found) < most:
        names = names_in(waiting.pop()) - found
        found |= names
        for name in names:
            waiting += values_given(scope, name)
            waiting += [
                loop.iter
                for loop in inside(scope, lambdas=True)
                if isinstance(loop, (ast.For, ast.comprehension)) and name in names_in(loop.target)
            ]
    return found
