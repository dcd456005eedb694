"""The failed call, in a form that can be repeated with one of its tensors changed."""

from __future__ import annotations

import ast
import inspect
import operator
import types
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torchwhy.observe.torch_features.torch_internals import BACKWARD_ENTRY
from torchwhy.plain_data import dataclass
from torchwhy.replay.crash.frames.failed_operands import DISPATCH, MODULE_CALL
from torchwhy.replay.crash.frames.lookup import OPERATORS, PLAIN, Lookup, Unknown
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame

NEVER_REEXECUTED = {"backward", "step", "save", "load", "__next__", BACKWARD_ENTRY}


@dataclass(frozen=True, eq=False)
class Call:
    """A function with its arguments."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def reexecute(self, *changes: tuple[Any, Any]) -> Any:
        """Call it again with tensors replaced, each (old, new) by identity."""
        return self.function(
            *(_changed(value, changes) for value in self.args),
            **{key: _changed(value, changes) for key, value in self.kwargs.items()},
        )


def _changed(value: Any, changes: tuple[tuple[Any, Any], ...]) -> Any:
    for old, new in changes:
        if value is old:
            return new
    if type(value) in (list, tuple):
        return type(value)(_changed(item, changes) for item in value)
    return value


def failed_call(frame: TracebackFrame, callees: list[TracebackFrame]) -> Call | None:
    """Return the call of torch's (or a library's) code that the user's expression made."""
    first = callees[0] if callees else None
    if first is not None and first.code.co_name in NEVER_REEXECUTED:
        return None
    if first is not None and first.code.co_name == MODULE_CALL:
        return Call(first.variables["self"], first.variables["args"], first.variables["kwargs"])
    if first is not None and first.code.co_name != DISPATCH:
        return _function_call(first)
    return _written_call(frame) or _dispatched_call(callees)


def module_call(callees: list[TracebackFrame], module: nn.Module) -> Call | None:
    """Return the call of one running module."""
    for frame in callees:
        if frame.code.co_name == MODULE_CALL and frame.variables.get("self") is module:
            return Call(module, frame.variables["args"], frame.variables["kwargs"])
    return None


def _function_call(frame: TracebackFrame) -> Call | None:
    """Return the call of a plain function of torch's from its frame."""
    code = frame.code
    function = frame.globals.get(code.co_name)
    if not isinstance(function, types.FunctionType) or function.__code__ is not code:
        return None
    count = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[:count]
    if code.co_flags & inspect.CO_VARARGS and not code.co_argcount:
        return Call(function, tuple(frame.variables.get(code.co_varnames[count], ())), {})
    return Call(
        function, (), {name: frame.variables[name] for name in names if name in frame.variables}
    )


def _written_call(frame: TracebackFrame) -> Call | None:
    """Return the call that the user's expression writes, if all its parts are known without running anything."""
    node, lookup = frame.node, Lookup(frame.live)
    try:
        if isinstance(node, ast.BinOp):
            left, right = lookup.value(node.left), lookup.value(node.right)
            if type(left) in PLAIN and type(right) in PLAIN:
                return Call(OPERATORS[type(node.op)], (left, right), {})
        if isinstance(node, ast.Call):
            return _spelled(node, lookup)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            held, index = lookup.value(node.value), lookup.value(node.slice)
            if type(held) in PLAIN:
                return Call(operator.getitem, (held, index), {})
    except (Unknown, KeyError):
        return None
    return None


def _spelled(node: ast.Call, lookup: Lookup) -> Call | None:
    args = tuple(lookup.value(item) for item in node.args)
    kwargs = {keyword.arg: lookup.value(keyword.value) for keyword in node.keywords if keyword.arg}
    if isinstance(node.func, ast.Attribute):
        holder = lookup.value(node.func.value)
        if (
            type(holder) in PLAIN
            and not node.func.attr.endswith("_")
            and node.func.attr not in NEVER_REEXECUTED
        ):
            return Call(getattr(torch.Tensor, node.func.attr), (holder, *args), kwargs)
    function = lookup.value(node.func)
    home = str(getattr(function, "__module__", "") or function)
    if isinstance(function, types.BuiltinFunctionType) and "torch" in home:
        return Call(function, args, kwargs)
    return None


def _dispatched_call(callees: list[TracebackFrame]) -> Call | None:
    for frame in reversed(callees):
        if frame.code.co_name == DISPATCH and "func" in frame.variables:
            function = frame.variables["func"]
            if str(function).split(".")[1].endswith("_"):
                return None
            return Call(
                function, tuple(frame.variables["args"]), dict(frame.variables.get("kwargs") or {})
            )
    return None
