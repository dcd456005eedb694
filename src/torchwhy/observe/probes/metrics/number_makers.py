"""Follows a number in the source back to what made it: losses of torch, functions of the program, or a formula.

Names decide nothing: a variable is followed to its assignment, and what is called is looked up as an object.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, Literal

import torch

from torchwhy.observe.probes.metrics.called_objects import (
    Surroundings,
    function_behind,
    inside_of,
    loss_of_torch,
    surroundings_of,
)
from torchwhy.observe.probes.metrics.formulas import formula_of, loss_spelled_out
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.plain_data import dataclass
from torchwhy.source.bindings import bindings, last_binding, reference
from torchwhy.source.calls import argument, method_of, positional_names
from torchwhy.source.files import layer_of, loaded
from torchwhy.source.scopes import Function, inside, parameters_of
from torchwhy.source.values import CASTS

DEEPEST = 12  # assignments, calls and operators on the way
REDUCTIONS = {"mean", "sum"}
PASSING = {*CASTS, *REDUCTIONS, "data", "squeeze", "clone", "reshape", "view", "flatten"}
Part = tuple[object, ...]  # which part of a result: an index, a key or the name of an attribute


@dataclass(frozen=True)
class Maker:
    """A loss of torch, a function by its code with the part of its result that is meant, or a formula."""

    kind: Literal["torch", "function", "formula"]
    what: object
    part: Part = ()


def makers_of(
    node: ast.AST | None, here: Surroundings, part: Part = (), depth: int = DEEPEST
) -> tuple[Maker, ...]:
    """Return the makers of a number; several if it is a sum, nothing if it cannot be followed."""
    if node is None or not depth:
        return ()
    if isinstance(node, ast.Call):
        return _of_call(node, here, part, depth - 1)
    if isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_bound(node, here)):
        return _of_name(node, here, part, depth - 1)
    if isinstance(node, ast.Attribute):
        more = () if node.attr in PASSING else (node.attr,)
        return makers_of(node.value, here, (*more, *part), depth - 1)
    if isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return makers_of(node.value, here, (key, *part), depth - 1)
    if isinstance(node, (ast.Tuple, ast.List, ast.Dict)):
        return _of_container(node, here, part, depth - 1)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return makers_of(node.elt, here, part[1:], depth - 1)
    return _of_operator(node, here, depth - 1) if not part else ()


def _of_operator(node: ast.AST, here: Surroundings, depth: int) -> tuple[Maker, ...]:
    if isinstance(node, ast.BinOp):
        left, right = (makers_of(one, here, depth=depth) for one in (node.left, node.right))
        if isinstance(node.op, ast.Add) and left and right:
            return left + right
        is_scaled = isinstance(node.op, ast.Div) or (isinstance(node.op, ast.Mult) and not right)
        if is_scaled and _are_known(left) and not _is_negative(node.right):
            return left
        if isinstance(node.op, ast.Mult) and _are_known(right) and not left:
            return () if _is_negative(node.left) else right
    return _formula(node, here)


def _are_known(makers: tuple[Maker, ...]) -> bool:
    return bool(makers) and all(one.kind != "formula" for one in makers)


def _is_negative(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def _formula(node: ast.AST, here: Surroundings) -> tuple[Maker, ...]:
    text = formula_of(node, here)
    if text is None:
        return ()
    spelled_out = loss_spelled_out(text)
    return (Maker("torch", spelled_out) if spelled_out else Maker("formula", text),)


def _of_call(call: ast.Call, here: Surroundings, part: Part, depth: int) -> tuple[Maker, ...]:
    called = here.value(call.func)
    name = loss_of_torch(called)
    if name is not None:
        return (Maker("torch", name),) if not part else ()
    if called is None and isinstance(call.func, ast.Attribute) and call.func.attr in PASSING:
        return makers_of(call.func.value, here, part, depth)
    if _is_passing(called):
        return makers_of(call.args[0] if call.args else None, here, part, depth)
    function = function_behind(called) if called is not None else None
    if function is None:
        return _formula(call, here) if not part else ()
    within = inside_of(*function, _arguments(call, *function, here))
    if within is not None and (found := _returned(within, part, depth)):
        return found
    return (Maker("function", function[0].__code__, part),)


def _arguments(call: ast.Call, function: Any, owner: Any, here: Surroundings) -> dict[str, Any]:
    """Return the arguments of a call that are objects with a name: the loss or the model that a function is given."""
    code = function.__code__
    names = code.co_varnames[int(owner is not None) : code.co_argcount]
    given = ((name, argument(call, names, name)) for name in names)
    values = ((name, here.value(node)) for name, node in given if node is not None)
    return {name: value for name, value in values if value is not None}


def _is_passing(called: Any) -> bool:
    """Tell whether a function returns its first argument, or the sum or mean of it."""
    ours = (float, sum, round, print, str, torch.mean, torch.sum, torch.stack, torch.cat)
    return any(called is one for one in (*ours, torch.tensor, torch.as_tensor))


def _returned(within: Surroundings, part: Part, depth: int) -> tuple[Maker, ...]:
    """Return what a function returns, if that are losses of torch wherever it returns."""
    found = [
        makers_of(node.value, within.at(node.lineno), part, depth)
        for node in inside(within.scope)
        if isinstance(node, ast.Return)
    ]
    is_torch = all(one and all(maker.kind == "torch" for maker in one) for one in found)
    return found[-1] if found and is_torch else ()


def _is_bound(node: ast.Attribute, here: Surroundings) -> bool:
    name = reference(node)
    return name is not None and bool(bindings(here.scope, name))


def _of_name(node: ast.expr, here: Surroundings, part: Part, depth: int) -> tuple[Maker, ...]:
    name = reference(node) or ""
    binding = last_binding(here.scope, name, here.line)
    if binding is None:
        return _given(name, here, part, depth)
    statement, value = binding
    if value is None:
        return ()
    before = here.at(getattr(statement, "lineno", here.line))
    if isinstance(statement, ast.AugAssign) and not isinstance(statement.op, ast.Add):
        return makers_of(node, before, part, depth)
    contents = list(_contents(here.scope, name))
    if contents and _is_container(value, before):
        found = [makers_of(one, here.at(one.lineno), part[1:], depth) for one in contents]
        return found[0] if all(found) else ()
    return makers_of(value, before, (*_place_in_tuple(statement, name, value), *part), depth)


def _is_container(value: ast.expr, here: Surroundings) -> bool:
    """Tell whether an expression makes something that is filled later: `[]`, `{}`, `list()`, `torch.zeros(n)`."""
    if isinstance(value, ast.Call):
        called = here.value(value.func)
        return any(called is one for one in (list, dict, torch.zeros, torch.empty))
    return isinstance(value, (ast.List, ast.Dict))


def _contents(scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """Yield what a scope puts into a container: `losses.append(x)`, `losses[k] = x`."""
    for node in inside(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and reference(target.value) == name:
                    yield node.value
        appended = method_of(node, "append")
        if appended is not None and reference(appended[1]) == name:
            yield from node.args  # type: ignore[attr-defined]


def _place_in_tuple(statement: ast.AST, name: str, value: ast.expr) -> Part:
    """Return where a name stands in `a, b = f()`; nothing if it gets the whole value."""
    for target in getattr(statement, "targets", ()):
        if isinstance(target, (ast.Tuple, ast.List)) and statement.value is value:  # type: ignore[attr-defined]
            for index, one in enumerate(target.elts):
                if reference(one) == name:
                    return (index,)
    return ()


def _of_container(
    node: ast.Tuple | ast.List | ast.Dict, here: Surroundings, part: Part, depth: int
) -> tuple[Maker, ...]:
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if part and isinstance(key, ast.Constant) and key.value == part[0]:
                return makers_of(value, here, part[1:], depth)
        return ()
    if part and isinstance(part[0], int) and part[0] < len(node.elts):
        return makers_of(node.elts[part[0]], here, part[1:], depth)
    return ()


def _given(name: str, here: Surroundings, part: Part, depth: int) -> tuple[Maker, ...]:
    """Follow a parameter of the running function to the argument that its caller passes."""
    frame, scope = here.frame, here.scope
    if frame is None or frame.f_back is None or name not in parameters_of(scope):
        return ()
    caller = frame.f_back
    if layer_of(caller.f_code.co_filename) != "user" or not isinstance(scope, Function):
        return ()
    source = loaded(caller.f_code.co_filename)
    call = source.at(span_of(Site(caller.f_code, caller.f_lasti))) if source else None
    passed = argument(call, positional_names(scope), name)
    return makers_of(passed, surroundings_of(caller), part, depth)
