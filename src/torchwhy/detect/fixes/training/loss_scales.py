"""Edits of a loss scale that the program applies itself: `(loss * SCALE).backward()` in half precision."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator

from torchwhy.finding import Fix
from torchwhy.source.bindings import value_of_name
from torchwhy.source.edits import Source

MODEST = 1024.0  # The usual start of static loss scaling; larger scales need trials, as GradScaler makes them.
OPERATORS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
    ast.LShift: lambda left, right: float(int(left) << int(right)),
}


def smaller(source: Source) -> Iterator[Fix]:
    """Yield a modest scale instead of a large one for the loss before its backward pass."""
    for call in source.calls("backward"):
        sent = call.func.value if isinstance(call.func, ast.Attribute) else None
        sent = value_of_name(source, sent) if isinstance(sent, ast.Name) else sent
        if not isinstance(sent, ast.BinOp) or not isinstance(sent.op, ast.Mult):
            continue
        for side in (sent.right, sent.left):
            written = value_of_name(source, side) if isinstance(side, ast.Name) else side
            scale = _number(written)
            if written is not None and scale is not None and scale > MODEST:
                title = f"scale the loss by {MODEST:g}, not {scale:g}"
                yield from source.fix(title, source.replace(written, f"{MODEST}"))


def _number(node: ast.expr | None) -> float | None:
    """Return the value of a number that is written as scales are: `65536.0`, `2.0 ** 16`, `1 << 16`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if not isinstance(node, ast.BinOp) or type(node.op) not in OPERATORS:
        return None
    left, right = _number(node.left), _number(node.right)
    if left is None or right is None or abs(right) > 128:
        return None
    return OPERATORS[type(node.op)](left, right)
