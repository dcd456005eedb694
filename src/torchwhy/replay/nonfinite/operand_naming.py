"""Names the operands of an operation in the words of the frame that issued it.

The expression of the user's program names them if it issued the operation, or handed these very tensors to the torch
or library function that did. Else the expression of that function names them, and its place is told beside the user's.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

import torch

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.program.names import borrowed_locals
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.tensor_parts import storage_key
from torchwhy.record.events import Operand
from torchwhy.replay.microscope.call_sites import MOST_FRAMES, part_of
from torchwhy.replay.microscope.expressions import node_at, operand_names
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.nonfinite.provenance import names_in_order
from torchwhy.source.files import package_path
from torchwhy.source.values import is_constant

# Torch's Python code behind an operator is the operator.
OPERATORS = (ast.BinOp, ast.UnaryOp, ast.AugAssign, ast.Compare, ast.Subscript)
OWN_KINDS = ("parameter", "buffer")  # Tensors that are named after the model.


class Given(NamedTuple):
    """A tensor that the user's expression hands to the function it calls, and its text there."""

    text: str
    tensor: torch.Tensor


class Stack(NamedTuple):
    """The frames of an operation that is running: the user's, the function it calls, and the one that issues it."""

    called: FrameType
    issuing: FrameType


def named(
    operation: Operation, operands: Sequence[Operand], values: Sequence[Any]
) -> tuple[list[str | None], Site | None]:
    """Return the names of operands, and the place that they are from if it is in a library."""
    place = operation.place() if operation.node is None else None
    if place is None:
        return [None] * len(operands), None
    base, inside = operation.info.base, _in_library(operation)
    if not operation.within or (inside is None and isinstance(node_at(place), OPERATORS)):
        return names_in_order(operand_names(place), operands, base), None
    stack = _stack_of(operation)
    given = [] if stack is None else list(_given(stack.called, node_at(place)))
    names = [_text_of(value, given) for value in values]
    strange = [
        position
        for position, operand in enumerate(operands)
        if operand.tensor is not None
        and names[position] is None
        and operand.origin not in OWN_KINDS
    ]
    if strange and inside is not None and operation.phase in ("forward", "data"):
        return names_in_order(operand_names(inside), operands, base), inside
    texts = {one.text for one in given}
    if (
        len(strange) == len(texts) == 1
        and stack is not None
        and _passes_on(operation, stack, given)
    ):
        names[strange[0]] = texts.pop()
    return names, None


def names_of_forward(operation: Operation) -> tuple[list[str], Site | None]:
    """Return the operands of an operation that ran earlier, and the place in a library that their names are from."""
    place, inside = operation.place(), _in_library(operation)
    written = [] if place is None else operand_names(place)
    if inside is not None:
        return operand_names(inside), inside
    if not operation.within or place is None or isinstance(node_at(place), OPERATORS):
        return written, None
    issued = len(_variables(operand_names(operation.within[0])))
    return written if len(_variables(written)) in (1, issued) else [], None


def _in_library(operation: Operation) -> Site | None:
    """Return the expression of a library that issued the operation, itself or through torch's own code."""
    site = operation.within[-1] if operation.within else None
    return site if site is not None and part_of(site.code.co_filename) == "library" else None


def _variables(texts: list[str]) -> list[str]:
    return [text for text in texts if not is_constant(text)]


def span_inside(site: Site | None) -> SourceSpan | None:
    """Return the place of an expression of a library, its file named from the package on."""
    if site is None:
        return None
    span = span_of(site)
    return SourceSpan(
        file=package_path(site.code.co_filename),
        line=span.line,
        end_line=span.end_line,
        function=span.function,
        expression=span.expression,
    )


def _stack_of(operation: Operation) -> Stack | None:
    """Return the frames of the operation if it runs now."""
    frame: FrameType | None = frame_at(1)
    issuing = called = None
    for _ in range(MOST_FRAMES):
        if frame is None:
            return None
        part = part_of(frame.f_code.co_filename)
        if part == "user":
            break
        if part != "own":
            issuing, called = issuing or frame, frame
        frame = frame.f_back
    if issuing is None or called is None or issuing.f_code is not operation.within[0].code:
        return None
    return Stack(called, issuing)


def _given(called: FrameType, node: ast.AST | None) -> Iterator[Given]:
    """Yield the tensors that an expression hands over, as the called function still holds them."""
    code, variables = called.f_code, borrowed_locals(called)
    names = code.co_varnames
    count = code.co_argcount
    positional = [variables.get(name) for name in names[:count]]
    extra = count + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        positional += list(variables.get(names[extra]) or ())
        extra += 1
    named_values = {name: variables.get(name) for name in names[: count + code.co_kwonlyargcount]}
    if code.co_flags & inspect.CO_VARKEYWORDS:
        named_values |= variables.get(names[extra]) or {}
    for text, value in _pairs(node, positional, named_values):
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(one, torch.Tensor):
                yield Given(text, one)


def _pairs(
    node: ast.AST | None, positional: list[Any], named_values: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield each argument of a call as it is written, with its value."""
    if isinstance(node, ast.Call):
        is_method = "self" in named_values
        if is_method and positional:
            holder = node.func.value if isinstance(node.func, ast.Attribute) else node.func
            yield ast.unparse(holder), positional[0]
        for argument, value in zip(node.args, positional[is_method:], strict=False):
            if isinstance(argument, ast.Starred):
                return
            yield ast.unparse(argument), value
        for keyword in node.keywords:
            if keyword.arg in named_values:
                yield ast.unparse(keyword.value), named_values[keyword.arg]


def _text_of(value: Any, given: list[Given]) -> str | None:
    """Return what the user's expression calls a tensor: the same object, or else the same memory."""
    if not isinstance(value, torch.Tensor):
        return None
    for one in given:
        if one.tensor is value:
            return one.text
    key = storage_key(value)
    texts = {one.text for one in given if key is not None and storage_key(one.tensor) == key}
    return texts.pop() if len(texts) == 1 else None


def _passes_on(operation: Operation, stack: Stack, given: list[Given]) -> bool:
    """Tell whether torch's code hands the user's tensors and the model's own on to the operation as they are."""
    node = node_at(operation.within[0])
    if _in_library(operation) is not None or not isinstance(node, ast.Call):
        return False
    variables = borrowed_locals(stack.issuing)
    arguments = [*node.args, *(one.value for one in node.keywords)]
    if isinstance(node.func, ast.Attribute):
        arguments.append(node.func.value)
    return all(_is_passed_on(argument, variables, given) for argument in arguments)


def _is_passed_on(argument: ast.expr, variables: Any, given: list[Given]) -> bool:
    if isinstance(argument, ast.Attribute):
        root: ast.expr = argument
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return False
        # `self.weight` of a layer, or `torch.special`, which is no variable.
        return isinstance(variables.get(root.id), torch.nn.Module) or root.id not in variables
    if isinstance(argument, ast.Name):
        value = variables.get(argument.id)
        return not isinstance(value, torch.Tensor) or _text_of(value, given) is not None
    return isinstance(argument, ast.Constant)
