"""Scopes, blocks and loops: what encloses a piece of syntax, and what a scope holds of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchwhy.source.text import Scope, Text

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
Turn = Loop | Function  # what is run again and again
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
NEW_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)
UNNAMED = {ast.Lambda: "<lambda>", ast.GeneratorExp: "<genexpr>"}  # as Python names their code


def enclosing(source: Text, node: ast.AST, *kinds: type[ast.AST]) -> ast.AST | None:
    """Return the nearest piece of syntax of these kinds around another."""
    place = source.parents.get(node)
    while place is not None and not isinstance(place, kinds):
        place = source.parents.get(place)
    return place


def inside(scope: ast.AST, *, lambdas: bool = False) -> Iterator[ast.AST]:
    """Yield the syntax of a scope in the order of the source, without that of functions and classes in it.

    Lambdas count as functions, unless they are asked for. A function's decorators and defaults are no part of it.
    """
    children: Iterable[ast.AST] = ast.iter_child_nodes(scope)
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        children = scope.body
    waiting = [iter(children)]
    while waiting:
        child = next(waiting[-1], None)
        if child is None:
            waiting.pop()
            continue
        yield child
        if not isinstance(child, NEW_SCOPES) or (lambdas and isinstance(child, ast.Lambda)):
            waiting.append(ast.iter_child_nodes(child))


def scopes(tree: ast.Module) -> Iterator[Scope]:
    """Yield the file itself and every function and class in it, outer ones first."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
            yield node


def functions(tree: ast.Module, name: str) -> Iterator[ast.FunctionDef]:
    """Yield the functions and methods of a name."""
    for scope in scopes(tree):
        if isinstance(scope, ast.FunctionDef) and scope.name == name:
            yield scope


def methods(tree: ast.Module, class_name: str) -> Iterator[Function]:
    """Yield the methods of a class, or of several classes of one name."""
    for scope in scopes(tree):
        if isinstance(scope, ast.ClassDef) and scope.name == class_name:
            for item in scope.body:
                if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield item


def function_at(tree: ast.Module, line: int) -> Function | ast.Module:
    """Return the innermost function around a line, the file itself outside of functions."""
    around = [
        scope
        for scope in scopes(tree)
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) and covers(scope, line)
    ]
    return around[-1] if around else tree


def function_from(tree: ast.Module, first_line: int) -> Function | None:
    """Return the function that begins on a line, its decorators included."""
    for scope in scopes(tree):
        if (
            isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef))
            and first_line_of(scope) == first_line
        ):
            return scope
    return None


def function_of_code(tree: ast.Module, name: str, first_line: int) -> Function | ast.Module | None:
    """Return the function that a code object of this name and first line was made from, or the file itself."""
    if name == "<module>":
        return tree
    for scope in scopes(tree):
        if (
            isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef))
            and scope.name == name
            and first_line_of(scope) <= first_line <= scope.lineno
        ):
            return scope
    return None


def name_around_comprehension(source: Text, line: int) -> str | None:
    """Return the name of the code around the comprehension that begins on a line; None if there is none."""
    for node in ast.walk(source.tree):
        if isinstance(node, COMPREHENSIONS) and node.lineno == line:
            around = enclosing(source, node, *NEW_SCOPES, ast.GeneratorExp)
            if around is None:
                return "<module>"
            return UNNAMED.get(type(around)) or str(getattr(around, "name", None))
    return None


def first_line_of(function: Function) -> int:
    """Return the line a function begins on, its decorators included."""
    return min([function.lineno, *(one.lineno for one in function.decorator_list)])


def parameters_of(scope: ast.AST) -> set[str]:
    """Return the names of a function's parameters, nothing for other scopes."""
    arguments = getattr(scope, "args", None)
    if not isinstance(arguments, ast.arguments):
        return set()
    return {one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}


def gives_back(function: Function) -> bool:
    """Tell whether a function returns or yields a value anywhere."""
    given = (node for node in inside(function) if isinstance(node, (ast.Return, ast.Yield)))
    return any(node.value is not None for node in given)


def covers(node: ast.AST, line: int) -> bool:
    """Tell whether a line lies in a piece of syntax."""
    first = getattr(node, "lineno", None)
    return first is not None and first <= line <= (getattr(node, "end_lineno", None) or first)


def line_at(node: ast.AST) -> int:
    """Return the line a piece of syntax begins on, 0 if it has none."""
    return int(getattr(node, "lineno", 0))


def loops_around(scope: ast.AST, line: int) -> list[Loop]:
    """Return the loops of a scope whose body holds a line, innermost first."""
    found = [
        node
        for node in inside(scope)
        if isinstance(node, LOOPS)
        and node.body[0].lineno <= line <= (node.body[-1].end_lineno or line)
    ]
    return found[::-1]


def holds(whole: ast.AST, part: ast.AST) -> bool:
    """Tell whether a piece of syntax is, or is part of, another one of the same tree."""
    return any(one is part for one in ast.walk(whole))


def statement_around(scope: ast.AST, node: ast.AST) -> ast.stmt | None:
    """Return the innermost statement of a scope that holds an expression."""
    found = None
    for candidate in inside(scope):
        if isinstance(candidate, ast.stmt) and holds(candidate, node):
            found = candidate
    return found
