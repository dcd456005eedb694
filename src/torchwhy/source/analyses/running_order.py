"""Lists the names that some statements read and assign, in the order in which they run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from torchwhy.source.bindings import reference
from torchwhy.source.scopes import NEW_SCOPES

# Methods and functions whose result has no graph of the tensor.
LOOKING = {
    "size",
    "dim",
    "numel",
    "detach",
    "detach_",
    "item",
    "tolist",
    "isinstance",
    "hasattr",
    "len",
    "print",
}


class Touch(NamedTuple):
    """One read or write of a name (`h`, `self.h`)."""

    node: ast.expr
    name: str
    is_read: bool


def touches(body: Iterable[ast.AST]) -> Iterator[Touch]:
    """Yield what statements read and write; of an assignment, the right side first.

    A write under an `if` may not happen (`if h is None: h = zeros`), so it is left out unless both branches make it;
    within its branch it comes before the reads that follow it.
    """
    for node in body:
        yield from _of(node)


def _of(node: ast.AST) -> Iterator[Touch]:
    if isinstance(node, NEW_SCOPES) or _only_asks(node):
        return
    if isinstance(node, ast.If):
        yield from _of(node.test)
        yield from _of_branches(list(touches(node.body)), list(touches(node.orelse)))
    elif isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.AugAssign):
        name = reference(node.target)
        if name is not None:
            yield Touch(node.target, name, is_read=True)
        yield from touches([node.value, node.target])
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        yield from _of(node.value)
        yield from touches(child for child in ast.iter_child_nodes(node) if child is not node.value)
    elif isinstance(node, (ast.Name, ast.Attribute)) and reference(node) is not None:
        yield Touch(node, reference(node) or "", isinstance(node.ctx, ast.Load))
    else:
        yield from touches(ast.iter_child_nodes(node))


def _of_branches(first: list[Touch], second: list[Touch]) -> Iterator[Touch]:
    """Yield what each branch reads from before it, then what both write."""
    for branch in (first, second):
        written: set[str] = set()
        for touch in branch:
            if not touch.is_read:
                written.add(touch.name)
            elif touch.name not in written:
                yield touch
    others = {touch.name for touch in second if not touch.is_read}
    yield from (touch for touch in first if not touch.is_read and touch.name in others)


def _only_asks(node: ast.AST) -> bool:
    """Tell whether an expression only tests for None: `h is None`."""
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot))


def _of_call(node: ast.Call) -> Iterator[Touch]:
    """Yield the operands of a call: `losses.append(x)` reads its receiver, `h.size(0)` reads nothing."""
    function = node.func
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    if isinstance(function, ast.Attribute):
        yield from touches(given if function.attr in LOOKING else [function.value, *given])
    elif not isinstance(function, ast.Name) or function.id not in LOOKING:
        yield from touches([function, *given])
