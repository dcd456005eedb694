"""Finds the tensors of the failing expression by their names in the program, and the inputs of the torch function."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import torch
from torch import nn

from torchwhy.observe.torch_features.module_parts import CALL_NAME
from torchwhy.observe.torch_features.torch_internals import schema_of
from torchwhy.plain_data import dataclass
from torchwhy.replay.crash.autopsy.descriptions import is_tensor
from torchwhy.replay.crash.frames.lookup import Lookup, Unknown
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.source.values import Node, parts_of, text_of

MOST_OPERANDS = 16
MODULE_CALL = CALL_NAME  # the first frame of every module call; its `args` are the caller's
DISPATCH = "__torch_dispatch__"


@dataclass(frozen=True, eq=False)
class FoundOperand:
    """One live tensor: the program's text for it, and the callee's name for it if it has one."""

    name: str
    value: Any
    argument: str | None = None
    node: Node | None = None


def operands_of(frame: TracebackFrame, callees: list[TracebackFrame]) -> list[FoundOperand]:
    """Return the tensors in the failing expression of a frame, each once, in the order of the source."""
    node = frame.node
    if node is None:
        return []
    called = callees[0] if callees and callees[0].code.co_name != DISPATCH else None
    passed = _passed_to(called) if called is not None and isinstance(node, ast.Call) else {}
    lookup = Lookup(frame.live)
    found: list[FoundOperand] = []
    for position, part in parts_of(node):
        value, argument = passed.get(position, (None, None))
        found += _tensors_of(part, lookup, value=value, argument=argument)
    if called is None:
        return _as_dispatched(node, callees, lookup) or _each_once(found)
    return _each_once(found)


def _as_dispatched(node: Node, callees: list[TracebackFrame], lookup: Lookup) -> list[FoundOperand]:
    """Return the operands of `a + f(b)` from the operation itself, if it got as many tensors as there are parts.

    Those of a call only if the parts whose values are known are these very tensors: `linear` transposes its weight.
    """
    _, given = inputs_of(callees)
    parts = [part for _, part in parts_of(node) if not isinstance(part, ast.Constant)]
    if len(given) != len(parts) or len(parts) != 2:
        return []
    known = [(lookup.get(part), one.value) for part, one in zip(parts, given, strict=True)]
    are_same = all(not is_tensor(there) or there is got for there, got in known)
    is_plain_call = isinstance(node, ast.Call) and not node.keywords and are_same
    if isinstance(node, ast.BinOp) or is_plain_call:
        return [
            FoundOperand(text_of(part), one.value, one.argument, part)
            for part, one in zip(parts, given, strict=True)
        ]
    return []


def _tensors_of(
    node: Node, lookup: Lookup, *, value: Any = None, argument: str | None = None
) -> list[FoundOperand]:
    """Return the tensor that an expression is, or those in it if its own value is unknown."""
    if value is None:
        try:
            value = lookup.value(node)
        except Unknown:
            return [
                found for part in ast.iter_child_nodes(node) for found in _tensors_of(part, lookup)
            ]
    name = text_of(node)
    if is_tensor(value):
        return [FoundOperand(name, value, argument, node)]
    if isinstance(node, (ast.List, ast.Tuple)) and isinstance(value, (list, tuple)):
        return [
            FoundOperand(text_of(part), item, argument, part)
            for part, item in zip(node.elts, value, strict=False)
            if is_tensor(item)
        ]
    if type(value) in (list, tuple):
        return [
            FoundOperand(f"{name}[{i}]", item, argument)
            for i, item in enumerate(value[:8])
            if is_tensor(item)
        ]
    if type(value) is dict:
        return [
            FoundOperand(f"{name}[{k!r}]", item, argument)
            for k, item in list(value.items())[:8]
            if is_tensor(item)
        ]
    return []


def _passed_to(callee: TracebackFrame) -> dict[int | str | None, tuple[Any, str | None]]:
    """Return the arguments of a called frame: by position and by keyword, each with the callee's name for it."""
    variables, code = callee.variables, callee.code
    if code.co_name == MODULE_CALL and isinstance(variables.get("args"), tuple):
        names = _forward_names(variables.get("self"))
        given: dict[int | str | None, tuple[Any, str | None]] = {
            position: (value, names[position] if position < len(names) else None)
            for position, value in enumerate(variables["args"])
        }
        given.update({key: (value, key) for key, value in variables.get("kwargs", {}).items()})
        return given
    names = list(code.co_varnames[: code.co_argcount])
    if names[:1] == ["self"]:
        names = names[1:]
    given = {place: (variables.get(name), name) for place, name in enumerate(names)}
    given.update({name: (variables.get(name), name) for name in names})
    return given


def _forward_names(module: Any) -> list[str]:
    """Return the parameter names of a module's `forward`."""
    code = (
        getattr(inspect.unwrap(type(module).forward), "__code__", None)
        if isinstance(module, nn.Module)
        else None
    )
    return list(code.co_varnames[1 : code.co_argcount]) if code is not None else []


def inputs_of(callees: list[TracebackFrame]) -> tuple[str | None, list[FoundOperand]]:
    """Return the operation or function of torch that raised, and the tensors it got by its own names."""
    for frame in reversed(callees):
        if frame.code.co_name == DISPATCH and "func" in frame.variables:
            return _dispatched(frame)
    for frame in reversed(callees):
        module = frame.globals.get("__name__", "")
        names = frame.code.co_varnames[: frame.code.co_argcount]
        found = [
            FoundOperand(name, frame.variables[name], name)
            for name in names
            if isinstance(frame.variables.get(name), torch.Tensor)
        ]
        if found:
            return f"{module}.{frame.code.co_name}", found
    return None, []


def _dispatched(frame: TracebackFrame) -> tuple[str, list[FoundOperand]]:
    function, args = frame.variables["func"], frame.variables.get("args", ())
    kwargs = frame.variables.get("kwargs") or {}
    schema = schema_of(function)
    names = [argument.name for argument in schema.arguments] if schema is not None else []
    found: list[FoundOperand] = []
    for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
        if isinstance(value, torch.Tensor):
            found.append(FoundOperand(name, value, name))
        elif isinstance(value, (list, tuple)):
            found += [
                FoundOperand(f"{name}[{i}]", item, name)
                for i, item in enumerate(value)
                if is_tensor(item)
            ]
    return str(function), found


def _each_once(found: list[FoundOperand]) -> list[FoundOperand]:
    seen: dict[tuple[int, str], FoundOperand] = {}
    for one in found:
        known = seen.get((id(one.value), one.name))
        if known is None or known.argument is None:
            seen[id(one.value), one.name] = one
    return list(seen.values())[:MOST_OPERANDS]
