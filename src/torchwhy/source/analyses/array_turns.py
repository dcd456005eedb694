"""Expressions that turn an array round, so that it is read backwards."""

from __future__ import annotations

import ast

from torchwhy.source.bindings import last_binding, reference
from torchwhy.source.calls import called
from torchwhy.source.scopes import covers, inside, line_at

TURNING = ("flip", "fliplr", "flipud", "rot90")


def is_turning(node: ast.AST) -> bool:
    """Tell whether an expression is `a[::-1]` or `np.flip(a)`."""
    if not isinstance(node, ast.Subscript):
        return called(node) in TURNING
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(
        isinstance(part, ast.Slice) and part.step is not None and _is_negative(part.step)
        for part in parts
    )


def _is_negative(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def turning_behind(expression: ast.AST | None, scope: ast.AST, line: int) -> ast.AST | None:
    """Follow the names in an expression of a line back to where one of them was turned round."""
    waiting: list[tuple[ast.AST, int]] = [(expression, line)] if expression is not None else []
    seen: set[str] = set()
    while waiting:
        node, line = waiting.pop(0)
        for part in ast.walk(node):
            if is_turning(part):
                return _in_file(scope, part, line) if node is expression else part
            name = reference(part)
            if name is None or name in seen:
                continue
            seen.add(name)
            made = last_binding(scope, name, line)
            if made is not None and made[1] is not None:
                waiting.append((made[1], line_at(made[0])))
    return None


def _in_file(scope: ast.AST, part: ast.AST, line: int) -> ast.AST:
    """Return the syntax of the file that an expression parsed on its own stands for; it has other line numbers."""
    text = ast.unparse(part)
    same = [node for node in inside(scope) if covers(node, line) and is_turning(node)]
    return next((node for node in same if ast.unparse(node) == text), same[0] if same else part)
