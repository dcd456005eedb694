"""Statements of the user's files, as they are copied into a program of their own."""

from __future__ import annotations

import ast
import textwrap

from torchwhy.plain_data import dataclass
from torchwhy.record.kept.kept_failure import FrameKept
from torchwhy.reproduce.names_used import names_written
from torchwhy.source.calls import last_word
from torchwhy.source.edits import Source
from torchwhy.source.scopes import Function, function_of_code

DEFAULTS = ("set_default_dtype", "set_default_device", "set_float32_matmul_precision")


class CannotCutError(Exception):
    """Why the step cannot be made a program of its own."""


@dataclass(frozen=True)
class Piece:
    """Lines of the new program; copied ones know where they stood."""

    text: str
    file: str | None = None
    line: int = 0


def setting_statements(source: Source) -> list[Piece]:
    """Return the top-level statements that set torch's defaults."""
    return [
        Piece(text_of_statement(source, one), source.file, one.lineno)
        for one in source.tree.body
        if isinstance(one, ast.Expr) and any(calls_method(one, name) for name in DEFAULTS)
    ]


def scope_of_frame(source: Source, frame: FrameKept) -> Function | ast.Module | None:
    """Return the function of a running frame, or its whole file; None if it is not in the text."""
    return function_of_code(source.tree, frame.function, frame.first_line)


def scope_at(source: Source, frame: FrameKept) -> ast.AST:
    """Return the function of a running frame, or its whole file."""
    scope = scope_of_frame(source, frame)
    if scope is None:
        raise CannotCutError(f"the function {frame.function} was not found in {frame.file}")
    return scope


def argument_given(source: Source, line: int, function: ast.AST, name: str) -> ast.expr | None:
    """Return what the call of a function on a line gives to a parameter; None if that is not plain to see."""
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    parameters = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    for call in ast.walk(source.tree):
        if not isinstance(call, ast.Call) or not call.lineno <= line <= (call.end_lineno or line):
            continue
        if last_word(call.func) != function.name:
            continue
        if any(isinstance(one, ast.Starred) for one in call.args):
            return None
        if isinstance(call.func, ast.Attribute) and parameters[:1] == ["self"]:
            parameters = parameters[1:]
        given = dict(zip(parameters, call.args, strict=False))
        given |= {one.arg: one.value for one in call.keywords if one.arg is not None}
        return given.get(name)
    return None


def top_names(statement: ast.stmt) -> set[str]:
    """Return the names that a definition, an import or an assignment gives a meaning."""
    kinds = (
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.Import,
        ast.ImportFrom,
        ast.Assign,
    )
    return names_written(statement) if isinstance(statement, kinds) else set()


def first_line(statement: ast.stmt) -> int:
    """Return the line a statement begins on, its decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(int(one.lineno) for one in decorators)])


def text_of_statement(source: Source, statement: ast.stmt) -> str:
    """Return the lines of a statement without their indentation; the statement alone where it shares a line."""
    first, last = first_line(statement), statement.end_lineno or statement.lineno
    lines = source.lines[first - 1 : last]
    before = lines[0][: statement.col_offset].strip() if first == statement.lineno else ""
    after = lines[-1].encode()[statement.end_col_offset or 0 :].decode().strip()
    if before or (after and not after.startswith("#")):
        return source.of(statement)
    return textwrap.dedent("\n".join(lines))


def holds_line(node: ast.stmt, line: int) -> bool:
    """Tell whether a line lies in a statement."""
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def calls_method(node: ast.AST, method: str) -> bool:
    """Tell whether a method of this name is called anywhere in a piece of syntax."""
    return any(
        isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr == method
        for one in ast.walk(node)
    )


def only_prints(statement: ast.stmt) -> bool:
    """Tell whether a statement is a call of `print`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return (
        isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print"
    )
