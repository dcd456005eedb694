"""What an expression calls, as an object of the program: a loss of torch, a model, a function. Runs no code of it."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
from collections.abc import Mapping
from dataclasses import field
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch import nn

from torchwhy.observe.program.names import borrowed_locals
from torchwhy.observe.torch_features.compiler import original_of
from torchwhy.observe.torch_features.layer_kinds import LOSS_FUNCTIONS, LOSSES
from torchwhy.observe.torch_features.module_parts import stored_part
from torchwhy.plain_data import dataclass
from torchwhy.source.files import layer_of, scope_of
from torchwhy.source.scopes import parameters_of
from torchwhy.source.values import look_up, stored_attribute

WRAPPERS = (nn.parallel.DistributedDataParallel, nn.DataParallel)
OF_TORCH = "torch.nn.functional"


@dataclass(frozen=True)
class Surroundings:
    """A scope of the program and what its names stand for, as seen at a line of it."""

    scope: ast.AST
    names: Mapping[str, Any]
    line: int
    frame: FrameType | None = field(default=None, compare=False)  # while it runs

    def value(self, node: ast.AST) -> Any:
        """Return what a name or a chain of attributes stands for, None if that is unknown."""
        if isinstance(node, ast.Name) and node.id not in self.names:
            return getattr(builtins, node.id, None)
        return look_up(node, self.names, attribute=_attribute, items=True)

    def at(self, line: int) -> Surroundings:
        """Return the same scope as seen at another line."""
        return Surroundings(self.scope, self.names, line, self.frame)

    def without_callers(self) -> Surroundings:
        """Return the same scope; what its function was called with is not followed to the caller."""
        return Surroundings(self.scope, self.names, self.line)


def _attribute(holder: Any, name: str) -> Any:
    """Return an attribute that is stored: in the object, among a module's parts, or a method of its class."""
    for found in (stored_attribute(holder, name), stored_part(holder, name)):
        if found is not None:
            return found
    if isinstance(holder, (torch.Tensor, ModuleType, type)):
        return None
    method = inspect.getattr_static(type(holder), name, None)
    if isinstance(method, staticmethod):
        return method.__func__
    return MethodType(method, holder) if isinstance(method, FunctionType) else None


def surroundings_of(frame: FrameType) -> Surroundings:
    """Return the function that a frame runs; of a comprehension, the function around it."""
    line, names = frame.f_lineno, borrowed_locals(frame)
    while frame.f_code.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"):
        if frame.f_back is None:
            break
        frame = frame.f_back
        names = {**borrowed_locals(frame), **names}
    scope = scope_of(frame.f_code) or ast.Module(body=[], type_ignores=[])
    return Surroundings(scope, {**frame.f_globals, **names}, line, frame)


def inside_of(function: FunctionType, owner: Any, given: Mapping[str, Any]) -> Surroundings | None:
    """Return the scope of a function that does not run now; `owner` is its `self`, `given` its other arguments."""
    scope = scope_of(function.__code__)
    if scope is None:
        return None
    code, names = function.__code__, dict(function.__globals__)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            continue
    for name in parameters_of(scope):
        names.pop(name, None)
    names |= given
    if owner is not None and code.co_argcount:
        names[code.co_varnames[0]] = owner
    return Surroundings(scope, names, line=1 << 30)


def loss_of_torch(called: Any) -> str | None:
    """Return the name of the function behind a loss that torch ships; None for everything else."""
    if issubclass(type(called), LOSSES):
        kinds = (LOSS_FUNCTIONS.get(kind) for kind in type(called).__mro__)
        return next((name for name in kinds if name is not None), None)
    if not isinstance(called, (FunctionType, BuiltinFunctionType)) or called.__module__ != OF_TORCH:
        return None
    return called.__name__ if called.__name__ in LOSS_FUNCTIONS.values() else None


def is_model(called: Any) -> bool:
    """Tell whether what is called is a module that is no loss."""
    return issubclass(type(called), nn.Module) and not issubclass(type(called), LOSSES)


def function_behind(called: Any) -> tuple[FunctionType, Any] | None:
    """Return the Python function that a call runs, with its `self`; None for torch's own and for C functions."""
    while isinstance(called, functools.partial):
        called = called.func
    owner = None
    if issubclass(type(called), nn.Module):
        called = original_of(called)
        while isinstance(called, WRAPPERS):
            called = original_of(called.module)
        owner, called = called, inspect.getattr_static(type(called), "forward", None)
    elif isinstance(called, MethodType):
        owner, called = called.__self__, called.__func__
    elif not isinstance(called, (FunctionType, type)):
        owner, called = called, inspect.getattr_static(type(called), "__call__", None)
    if not isinstance(called, FunctionType):
        return None
    called = inspect.unwrap(called, stop=lambda one: not isinstance(one, FunctionType))
    if not isinstance(called, FunctionType) or layer_of(called.__code__.co_filename) == "torch":
        return None
    return called, owner
