"""Which names a piece of the program takes from elsewhere."""

from __future__ import annotations

import ast
import builtins
import symtable

BUILTINS = frozenset(dir(builtins))
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def names_read(node: ast.AST, text: str) -> set[str]:
    """Return the names that a statement reads and does not define itself; `text` is its own, not indented."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return _read_by_definition(text) - {node.name} - BUILTINS
    inner = {
        target.id
        for one in ast.walk(node)
        if isinstance(one, COMPREHENSIONS)
        for part in one.generators
        for target in ast.walk(part.target)
        if isinstance(target, ast.Name)
    }
    inner |= {
        argument.arg
        for one in ast.walk(node)
        if isinstance(one, ast.Lambda)
        for argument in ast.walk(one.args)
        if isinstance(argument, ast.arg)
    }
    loads = {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
    }
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        loads.add(node.target.id)
    return loads - inner - BUILTINS


def names_written(node: ast.AST) -> set[str]:
    """Return the names that a statement gives a value, also inside of its blocks."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }


def changes_object(node: ast.AST, name: str) -> bool:
    """Tell whether a statement calls a method of what a name holds, or assigns to a part of it."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return _root(node.value.func) == name
    if isinstance(node, ast.Assign):
        return any(
            isinstance(target, (ast.Attribute, ast.Subscript)) and _root(target) == name
            for target in node.targets
        )
    return False


def _root(node: ast.AST) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _read_by_definition(text: str) -> set[str]:
    top = symtable.symtable(text, "<definition>", "exec")
    found = {one.get_name() for one in top.get_symbols() if one.is_referenced()}
    waiting = list(top.get_children())
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        found |= {
            one.get_name() for one in table.get_symbols() if one.is_global() and one.is_referenced()
        }
    return found
