"""The program's text as a tree: which loop a line is in, where a name got its value. Nothing is run."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from types import CodeType

from torchwhy.finding import SourceSpan
from torchwhy.replay.crash.frames.source_files import position_of, tree_of
from torchwhy.source.files import shown_path

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Loop = ast.For | ast.While | ast.AsyncFor
Turn = Loop | ast.FunctionDef | ast.AsyncFunctionDef  # what is run again and again
NEW_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def scope_of(code: CodeType) -> Scope | None:
    """Return the function that a code object was made from, or the whole module."""
    tree = tree_of(code.co_filename)
    if tree is None or code.co_name == "<module>":
        return tree
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            if first <= code.co_firstlineno <= node.lineno:
                return node
    return None


def inside(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of one scope in the order of the source, without those of functions defined in it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, NEW_SCOPES):
            yield from inside(child)


def covers(node: ast.AST, line: int) -> bool:
    """Tell whether a line lies in a node."""
    first = getattr(node, "lineno", None)
    return first is not None and first <= line <= (getattr(node, "end_lineno", None) or first)


def loops_around(scope: ast.AST, line: int) -> list[Loop]:
    """Return the loops whose body holds a line, innermost first."""
    found = [
        node
        for node in inside(scope)
        if isinstance(node, (ast.For, ast.While, ast.AsyncFor))
        and node.body[0].lineno <= line <= (node.body[-1].end_lineno or line)
    ]
    return found[::-1]


def text_of(node: ast.AST) -> str:
    """Return an expression as the program writes it."""
    return ast.unparse(node)


def reference(node: ast.AST) -> str | None:
    """Return `h` or `self.h` for a plain name or an attribute of one; None for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        holder = reference(node.value)
        return f"{holder}.{node.attr}" if holder is not None else None
    return None


def targets_of(statement: ast.AST) -> list[tuple[ast.expr, ast.expr | None]]:
    """Return what a statement assigns, each with the expression it gets (the whole one for a tuple of names)."""
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
    found: list[tuple[ast.expr, ast.expr | None]] = []
    for target, value in pairs:
        found += _unpacked(target, value)
    return found


def _unpacked(target: ast.expr, value: ast.expr | None) -> list[tuple[ast.expr, ast.expr | None]]:
    if not isinstance(target, (ast.Tuple, ast.List)):
        return [(target, value)]
    matched = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
    values = (
        value.elts
        if matched and isinstance(value, (ast.Tuple, ast.List))
        else [value] * len(target.elts)
    )
    return [
        pair for one, part in zip(target.elts, values, strict=True) for pair in _unpacked(one, part)
    ]


def assignments(scope: ast.AST, name: str) -> list[tuple[ast.AST, ast.expr | None]]:
    """Return the statements of a scope that give `name` a value, with that expression."""
    return [
        (statement, value)
        for statement in inside(scope)
        for target, value in targets_of(statement)
        if reference(target) == name
    ]


def last_assignment(scope: ast.AST, name: str, line: int) -> tuple[ast.AST, ast.expr | None] | None:
    """Return what gave `name` its value as seen at `line`: the nearest above, else the last in the loop."""
    found = assignments(scope, name)
    above = [pair for pair in found if line_at(pair[0]) < line]
    if above:
        return max(above, key=lambda pair: line_at(pair[0]))
    return max(found, key=lambda pair: line_at(pair[0]), default=None)


def line_at(node: ast.AST) -> int:
    """Return the line a node begins on, 0 if it has none."""
    return int(getattr(node, "lineno", 0))


def uses(scope: ast.AST, name: str) -> list[ast.expr]:
    """Return the places that read `name`, in the order of the source."""
    return [
        node
        for node in inside(scope)
        if isinstance(node, (ast.Name, ast.Attribute))
        and isinstance(node.ctx, ast.Load)
        and reference(node) == name
    ]


def span(node: ast.AST, filename: str, function: str | None = None) -> SourceSpan:
    """Return where a node is, in the words of the record; of a loop or a definition only its first line."""
    if not isinstance(node, (ast.expr, ast.stmt)):
        return SourceSpan(shown_path(filename), line_at(node), function=function)
    line, end_line, column, end_column = position_of(filename, node)
    if isinstance(node, (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, *NEW_SCOPES)):
        text = linecache.getline(filename, line).strip() or None
        return SourceSpan(
            shown_path(filename), line, line, column, function=function, expression=text
        )
    return SourceSpan(
        file=shown_path(filename),
        line=line,
        end_line=end_line,
        column=column,
        end_column=end_column,
        function=function,
        expression=text_of(node),
    )


def statement_around(scope: ast.AST, node: ast.AST) -> ast.stmt | None:
    """Return the innermost statement that holds an expression."""
    found = None
    for candidate in inside(scope):
        if isinstance(candidate, ast.stmt) and any(part is node for part in ast.walk(candidate)):
            found = candidate
    return found
