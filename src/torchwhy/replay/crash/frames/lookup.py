"""Finds the value of an expression without running any code of the user's.

Names come from the frame, attributes from instance dictionaries, items from plain lists, tuples and dicts; the only
calls are methods of plain tensors without side effects.
"""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Callable, Mapping
from types import FrameType, ModuleType
from typing import Any

import torch
from torch import nn

from torchwhy.observe.torch_features.interpreter import is_plain_slot
from torchwhy.observe.torch_features.module_parts import parts_in, stored_in

MOST_ELEMENTS = 50_000_000  # beyond, a tensor is not computed with
PLAIN = (torch.Tensor, nn.Parameter)
# Methods of tensors without side effects.
HARMLESS = {
    "abs", "add", "argmax", "bfloat16", "bool", "byte", "chunk", "clone", "contiguous", "cpu", "detach", "diagonal",
    "dim", "div", "double", "exp", "expand", "expand_as", "flatten", "float", "half", "int", "item", "log",
    "log_softmax", "long", "masked_fill", "max", "mean", "min", "movedim", "mul", "narrow", "neg", "numel",
    "permute", "pow", "relu", "repeat", "reshape", "select", "sigmoid", "size", "softmax", "split", "sqrt",
    "squeeze", "sub", "sum", "swapaxes", "t", "tanh", "to", "tolist", "transpose", "type", "type_as", "unbind",
    "unflatten", "unsqueeze", "view", "view_as",
}  # fmt: skip
OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
TENSOR_PROPERTIES = frozenset(
    {"shape", "T", "mT", "H", "dtype", "device", "ndim", "data", "grad", "requires_grad"}
)


class Unknown(Exception):  # noqa: N818 - not an error: the value cannot be found without running the program
    """The value cannot be found without running code."""


class Lookup:
    """Evaluates syntax in one frame."""

    def __init__(self, frame: FrameType) -> None:
        self._locals: Mapping[str, Any] = frame.f_locals
        self._globals: Mapping[str, Any] = frame.f_globals
        self._builtins: Mapping[str, Any] = frame.f_builtins

    def value(self, node: ast.AST) -> Any:
        """Return the value of an expression; raise `Unknown` if that takes running the program."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise Unknown(ast.dump(node)[:80])
        try:
            return method(node)
        except Unknown:
            raise
        except Exception as problem:
            raise Unknown(str(problem)) from problem

    def get(self, node: ast.AST) -> Any:
        """Return the value of an expression, None if it is unknown."""
        try:
            return self.value(node)
        except Unknown:
            return None

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _name(self, node: ast.Name) -> Any:
        for scope in (self._locals, self._globals, self._builtins):
            if node.id in scope:
                return scope[node.id]
        raise Unknown(node.id)

    def _attribute(self, node: ast.Attribute) -> Any:
        return attribute(self.value(node.value), node.attr)

    def _subscript(self, node: ast.Subscript) -> Any:
        holder, key = self.value(node.value), self.value(node.slice)
        if isinstance(holder, (nn.ModuleList, nn.Sequential)) and isinstance(key, int):
            return list(parts_in(holder).values())[key]
        if isinstance(holder, nn.ModuleDict) and isinstance(key, str):
            return parts_in(holder)[key]
        if (
            type(holder) in (list, tuple, dict, torch.Size, str)
            or type(holder) in PLAIN
            or _is_array(holder)
        ):
            return holder[key]
        if isinstance(holder, tuple) and isinstance(key, (int, slice)):
            return tuple.__getitem__(holder, key)
        if isinstance(holder, dict):
            return dict.__getitem__(holder, key)
        inner = getattr(holder, "__dict__", {}).get(
            "data"
        )  # the mapping inside BatchEncoding and UserDict
        if isinstance(inner, dict):
            return dict.__getitem__(inner, key)
        raise Unknown(ast.unparse(node))

    def _slice(self, node: ast.Slice) -> slice:
        return slice(
            *(
                None if part is None else self.value(part)
                for part in (node.lower, node.upper, node.step)
            )
        )

    def _tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self.value(item) for item in node.elts)

    def _list(self, node: ast.List) -> list[Any]:
        return [self.value(item) for item in node.elts]

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        _check_plain(value)
        return OPERATORS[type(node.op)](value)

    def _binop(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        _check_plain(left)
        _check_plain(right)
        return OPERATORS[type(node.op)](left, right)

    def _call(self, node: ast.Call) -> Any:
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in HARMLESS:
            return self._length(node)
        holder = self.value(node.func.value)
        _check_plain(holder)
        if not isinstance(holder, torch.Tensor):
            raise Unknown(ast.unparse(node))
        arguments = [self.value(item) for item in node.args]
        keywords = {
            keyword.arg: self.value(keyword.value) for keyword in node.keywords if keyword.arg
        }
        for value in (*arguments, *keywords.values()):
            _check_plain(value)
        return getattr(holder, node.func.attr)(*arguments, **keywords)

    def _length(self, node: ast.Call) -> int:
        if isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
            holder = self.value(node.args[0])
            if type(holder) in (list, tuple, dict, str, torch.Size) or type(holder) in PLAIN:
                return len(holder)
        raise Unknown(ast.unparse(node))


def attribute(holder: Any, name: str) -> Any:
    """Return an attribute as it is stored, without running a property or `__getattr__` of the user's."""
    if type(holder) in PLAIN:
        if name in TENSOR_PROPERTIES:
            return getattr(holder, name)
        raise Unknown(name)
    if isinstance(holder, ModuleType):
        return vars(holder)[name]
    if isinstance(holder, nn.Module):
        stored = stored_in(holder, name)
        if stored is not None:
            return stored[0]
    found: Any = inspect.getattr_static(holder, name)
    if is_plain_slot(found):
        return found.__get__(holder, type(holder))
    if isinstance(found, (property, classmethod, staticmethod)) or inspect.isdatadescriptor(found):
        raise Unknown(name)
    return found


def _is_array(value: Any) -> bool:
    return type(value).__module__ == "numpy" and type(value).__name__ == "ndarray"


def _check_plain(value: Any) -> None:
    """Raise `Unknown` for a value whose operators may run code of the user's."""
    if type(value) in PLAIN:
        if value.numel() > MOST_ELEMENTS:
            raise Unknown("too large")
        return
    if value is None or type(value) in (
        int,
        float,
        bool,
        str,
        slice,
        torch.Size,
        torch.dtype,
        torch.device,
    ):
        return
    if type(value) in (tuple, list):
        for item in value:
            _check_plain(item)
        return
    raise Unknown(type(value).__name__)
