"""Builds the change that keeps a number, or a tensor without its graph, instead of a tensor with its graph."""

from __future__ import annotations

import ast

from torchwhy.finding import Fix
from torchwhy.record.learning import Held

SCALAR_BYTES = 8  # The widest real dtype takes this many bytes.
# A method call can follow these without parentheses.
SIMPLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def fix_for(held: Held) -> Fix:
    """Return the change as a diff if the statement is simple enough, otherwise as advice."""
    if held.feeds_backward:
        # The backward pass needs this graph, so only the author knows where to cut it.
        title = f"clear `{held.name}` after each step, or continue from `{held.name}.detach()`"
        return Fix(title, safety="show-only")
    item = _kept_name(held.grown_at.expression if held.grown_at is not None else None)
    if held.parts and item is not None:
        return _of_parts(held, item)
    scalar = held.tensors > 0 and held.bytes / held.tensors <= SCALAR_BYTES
    # Code that reads the collection may need tensors, so in that case only the graph goes.
    method = "item" if scalar and held.read_at is None else "detach"
    kept = "numbers" if method == "item" else "tensors without their graphs"
    place, line = held.grown_at, held.grown_line
    if place is None or line is None or place.expression is None:
        return Fix(f"keep {kept} in `{held.name}`: `.{method}()`", safety="show-only")
    changed = detached(place.expression, method)
    if changed is None or place.end_line not in (None, place.line) or place.expression not in line:
        return Fix(advice_for(held, method), safety="show-only")
    after = line.replace(place.expression, changed, 1)
    diff = f"--- {place.file}\n+++ {place.file}\n@@ -{place.line} +{place.line} @@\n-{line}\n+{after}\n"
    also = (
        " (or `.item()` if the program uses only the number)"
        if scalar and method == "detach"
        else ""
    )
    return Fix(f"keep {kept}: `{changed}`{also}", diff=diff, safety="safe")


def _of_parts(held: Held, item: str) -> Fix:
    """Return the advice for items that hold the tensors: dicts, tuples, objects."""
    parts = " and ".join(f"`{item}{part}`" for part in held.parts)
    graphs = "its graph" if len(held.parts) == 1 else "their graphs"
    return Fix(f"keep {parts} without {graphs}: `.detach()`", safety="show-only")


def _kept_name(text: str | None) -> str | None:
    """Return `output` of `outputs.append(output)`."""
    try:
        statement = ast.parse(text or "").body[0]
    except (SyntaxError, IndexError):
        return None
    value = kept_value(statement)
    return value.id if isinstance(value, ast.Name) else None


def advice_for(held: Held, method: str) -> str:
    """Return the advice for a statement that is too complex to rewrite."""
    if held.kind == "tensor" and "(" in (held.grown_at.expression or "" if held.grown_at else ""):
        return f"cut the graph between steps: `{held.name} = {held.name}.detach()`"
    return f"keep values without their graphs in `{held.name}`: `.{method}()`"


def detached(expression: str, method: str) -> str | None:
    """Return the statement with `.item()` or `.detach()` after the value that it keeps; None if it is too complex."""
    try:
        statement = ast.parse(expression).body[0]
    except (SyntaxError, IndexError):
        return None
    value = kept_value(statement)
    if value is None or value.end_col_offset is None or expression.count("\n"):
        return None
    raw = expression.encode()
    start, end = value.col_offset, value.end_col_offset
    text = raw[start:end].decode()
    inner = text if isinstance(value, SIMPLE) else f"({text})"
    return raw[:start].decode() + f"{inner}.{method}()" + raw[end:].decode()


def kept_value(statement: ast.stmt) -> ast.expr | None:
    """Return `loss` of `losses.append(loss)`, `total += loss`, `total = total + loss` and `cache[k] = loss`."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if name in ("append", "appendleft", "add") and len(call.args) == 1:
            return (
                None if isinstance(call.args[0], (ast.Tuple, ast.List, ast.Dict)) else call.args[0]
            )
        return None
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        return None if isinstance(statement.value, (ast.List, ast.Tuple)) else statement.value
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
        if isinstance(target, ast.Subscript) and isinstance(value, SIMPLE):
            return value
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            return value.right if ast.unparse(value.left) == ast.unparse(target) else None
    return None
