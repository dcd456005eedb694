"""Arguments that a function never reads, and signatures that it has to keep all the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.source.scopes import Function, functions, parameters_of
from torchwhy.source.text import Text

# A function that calls one of these may read any of its arguments.
READS_ALL = frozenset({"locals", "vars", "eval", "exec", "dir", "currentframe", "_getframe"})


def unread_arguments(function: Function) -> list[ast.arg]:
    """Return the arguments that the body does not mention; none if it takes or reads arguments of any name.

    A name that begins with an underscore says that it is not read; `del name` mentions it.
    """
    given = function.args
    if given.vararg is not None or given.kwarg is not None:
        return []
    body = [node for statement in function.body for node in ast.walk(statement)]
    names = {node.id for node in body if isinstance(node, ast.Name)}
    if READS_ALL & (names | {node.attr for node in body if isinstance(node, ast.Attribute)}):
        return []
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return [one for one in every if one.arg not in names and not one.arg.startswith("_")]


def of_one_signature(source: Text, function: Function, argument: str) -> Iterator[Function]:
    """Yield other functions and methods of this name that take the argument, too."""
    for one in functions(source.tree, function.name):
        if one is not function and argument in parameters_of(one):
            yield one


def is_handed_on(source: Text, name: str) -> bool:
    """Tell whether a function is used without being called: in a table of functions, as an argument, by a decorator."""
    for node in ast.walk(source.tree):
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            continue
        word = node.id if isinstance(node, ast.Name) else node.attr
        parent = source.parents.get(node)
        is_called = isinstance(parent, ast.Call) and parent.func is node
        if word == name and not is_called and not isinstance(parent, ast.Attribute):
            return True
    return False
