"""The user's source files as syntax, and small edits of them as diffs."""

from __future__ import annotations

import ast
import difflib
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.frames import text_at
from torchwhy.source.files import shown_path

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
CONTEXT_LINES = 1


@dataclass(frozen=True, eq=False)
class Written:
    """A stretch of source: an expression in a file, and the function or class around it.

    `caller` is the call that entered the function, where it was followed into one.
    """

    filename: str
    node: ast.expr
    scope: Scope
    caller: Written | None = None

    @property
    def span(self) -> SourceSpan:
        """Return the place in the words of the record."""
        position = position_of(self.filename, self.node)
        line, end_line, column, end_column = position
        name = getattr(self.scope, "name", "<module>")
        return SourceSpan(
            file=shown_path(self.filename),
            line=line,
            end_line=end_line,
            column=column,
            end_column=end_column,
            function=name,
            expression=text_at(self.filename, position),
        )


@lru_cache(maxsize=256)
def tree_of(filename: str) -> ast.Module | None:
    """Return the syntax of a file, None where it cannot be read."""
    try:
        return ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return None


def position_of(filename: str, node: ast.expr | ast.stmt) -> tuple[int, int, int, int]:
    """Return line, end line and the columns in characters (Python counts bytes)."""
    end_line = node.end_lineno or node.lineno
    return (
        node.lineno,
        end_line,
        _characters(filename, node.lineno, node.col_offset),
        _characters(filename, end_line, node.end_col_offset or 0),
    )


def _characters(filename: str, line: int, column: int) -> int:
    return len(linecache.getline(filename, line).encode()[:column].decode(errors="ignore"))


def scopes(filename: str) -> Iterator[Scope]:
    """Yield the file itself and every function and class in it, outer ones first."""
    tree = tree_of(filename)
    if tree is None:
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
            yield node


def own_nodes(scope: Scope) -> Iterator[ast.AST]:
    """Yield the syntax of a scope in the order of the source, without the functions and classes inside it."""
    waiting: list[ast.AST] = list(reversed(scope.body))
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        waiting += reversed(list(ast.iter_child_nodes(node)))


def assignments(scope: Scope, target: str) -> list[ast.expr]:
    """Return what is assigned to a name or attribute (`x`, `self.out`) in a scope, in the order of the source."""
    found = []
    for node in own_nodes(scope):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
            targets = [node.target]
        value = getattr(node, "value", None)
        if value is not None and any(ast.unparse(one) == target for one in targets):
            found.append(value)
        elif isinstance(node, ast.Assign) and isinstance(value, ast.Tuple):
            found += _unpacked(targets, value, target)
    return found


def _unpacked(targets: list[ast.expr], value: ast.Tuple, target: str) -> list[ast.expr]:
    return [
        item
        for one in targets
        if isinstance(one, ast.Tuple) and len(one.elts) == len(value.elts)
        for left, item in zip(one.elts, value.elts, strict=True)
        if ast.unparse(left) == target
    ]


def expression_at(filename: str, span: SourceSpan) -> ast.AST | None:
    """Return the syntax that covers exactly a stretch of source, None where there is none."""
    tree = tree_of(filename)
    if tree is None or span.column is None:
        return None
    wanted = (span.line, span.end_line, span.column, span.end_column)
    for node in ast.walk(tree):
        if (
            not isinstance(node, (ast.expr, ast.stmt))
            or isinstance(node, ast.Expr)
            or node.lineno != span.line
        ):
            continue
        if position_of(filename, node) == wanted:
            return node
    return None


def scope_at(filename: str, line: int) -> Scope | None:
    """Return the innermost function around a line, the file itself outside of functions."""
    around = [
        scope
        for scope in scopes(filename)
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef))
        and scope.lineno <= line <= (scope.end_lineno or scope.lineno)
    ]
    return around[-1] if around else tree_of(filename)


def replaced(filename: str, node: ast.expr, text: str) -> str:
    """Return the diff of a file in which one expression reads `text`; empty where that is not possible."""
    lines = linecache.getlines(filename)
    line, end_line, column, end_column = position_of(filename, node)
    if not 0 < line <= end_line <= len(lines):
        return ""
    changed = lines[line - 1][:column] + text + lines[end_line - 1][end_column:]
    edited = [*lines[: line - 1], changed, *lines[end_line:]]
    path = shown_path(filename)
    diff = difflib.unified_diff(lines, edited, f"a/{path}", f"b/{path}", n=CONTEXT_LINES)
    return "".join(part if part.endswith("\n") else part + "\n" for part in diff)
