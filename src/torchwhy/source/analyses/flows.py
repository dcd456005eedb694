"""Does what a variable holds end in a backward pass? Followed through assignments and returns in the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.source.scopes import FUNCTIONS

BACKWARD = {"backward", "manual_backward", "grad"}
CUTTING = {"detach", "detach_", "item", "tolist", "data"}
LINKS = (
    3  # loss = stack(losses); mean = loss / n; scaled = scale(mean): few, in any order of the text
)


def reaches_backward(tree: ast.Module, function: ast.AST, leaf: str) -> bool:
    """Tell whether a name is differentiated in its function, or returned and differentiated by whoever called."""
    if _differentiates(function, leaf):
        return True
    name = getattr(function, "name", None)
    if name is None or not _returns(function, leaf):
        return False
    callers = (node for node in ast.walk(tree) if isinstance(node, FUNCTIONS))
    return any(_differentiates(caller, name) for caller in (tree, *callers))


def _differentiates(region: ast.AST, leaf: str) -> bool:
    names = _names_from(region, leaf)
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in BACKWARD
        and any(_uses_any(part, names) for part in (node.func.value, *node.args))
        for node in _own_nodes(region)
    )


def _returns(function: ast.AST, leaf: str) -> bool:
    names = _names_from(function, leaf)
    return any(
        isinstance(node, ast.Return)
        and node.value is not None
        and _uses_any(node.value, names)
        and not _cuts(node.value)
        for node in _own_nodes(function)
    )


def _names_from(region: ast.AST, leaf: str) -> set[str]:
    """Return the names that get their value from `leaf`, with it."""
    names = {leaf}
    for _ in range(LINKS):
        for node in _own_nodes(region):
            if (
                isinstance(node, ast.Assign)
                and _uses_any(node.value, names)
                and not _cuts(node.value)
            ):
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def _own_nodes(region: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function or module without those of the functions inside it."""
    waiting = list(ast.iter_child_nodes(region))
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, FUNCTIONS):
            waiting += ast.iter_child_nodes(node)


def _cuts(value: ast.expr) -> bool:
    """Tell whether an expression leaves the graph behind."""
    return any(isinstance(part, ast.Attribute) and part.attr in CUTTING for part in ast.walk(value))


def _uses_any(node: ast.AST, names: set[str]) -> bool:
    return any(
        (isinstance(part, ast.Name) and part.id in names)
        or (isinstance(part, ast.Attribute) and part.attr in names)
        for part in ast.walk(node)
    )
