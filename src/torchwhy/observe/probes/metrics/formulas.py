"""The syntax of a formula without its variables, so that two places that compute the same can be compared."""

from __future__ import annotations

import ast
import re
from types import ModuleType

from torchwhy.observe.probes.metrics.called_objects import (
    Surroundings,
    function_behind,
    is_model,
    loss_of_torch,
)
from torchwhy.source.bindings import last_binding, targets_of
from torchwhy.source.calls import last_word
from torchwhy.source.values import CASTS

DEEPEST = 12
SAME_NUMBERS = {*CASTS, "squeeze", "unsqueeze", "view", "reshape", "flatten", "clone"}
MODEL, OTHER = "model", "value"
DIFFERENCE = rf"\((?:{MODEL} Sub (?:{MODEL}|{OTHER})|{OTHER} Sub {MODEL})\)"
DIFFERENCE = rf"(?:{DIFFERENCE}|\({DIFFERENCE} (?:Div|Mult) {OTHER}\)|\({OTHER} Mult {DIFFERENCE}\))"  # or a scaled one
SQUARE = re.compile(
    rf"\({DIFFERENCE} Pow 2\)|pow\({DIFFERENCE},2\)|square\({DIFFERENCE}\)|\(({DIFFERENCE}) Mult \1\)"
)
ABSOLUTE = re.compile(rf"abs\({DIFFERENCE}\)")
WITHOUT_MODEL = re.compile(rf"[^\s(),]*\((?:(?!\b{MODEL}\b)[^()])*\)(?:\[\])*")
COMPUTED = re.compile(rf"\b{MODEL}\b|:")  # by a model, or by a function of the program
OPERANDS = re.compile(rf"\b(?:{MODEL}|{OTHER})\b")


def formula_of(node: ast.AST, here: Surroundings) -> str | None:
    """Return the operations of an expression, with the outputs of models and all other values as such.

    The mean of one value is no formula.
    """
    text = _shape(node, here, DEEPEST)
    return text if OPERANDS.search(text) and text not in (MODEL, OTHER) else None


def loss_spelled_out(formula: str) -> str | None:
    """Return the name of torch's loss that a formula is: `(model(x) - y) ** 2` is the squared error."""
    before = ""
    while before != formula:
        before, formula = formula, WITHOUT_MODEL.sub(OTHER, formula)
    if SQUARE.fullmatch(formula):
        return "mse_loss"
    return "l1_loss" if ABSOLUTE.fullmatch(formula) else None


def _shape(node: ast.AST, here: Surroundings, depth: int) -> str:
    if not depth:
        return OTHER
    if isinstance(node, ast.Constant):
        return repr(node.value)
    if isinstance(node, ast.Name):
        return _of_name(node, here, depth - 1)
    if isinstance(node, ast.BinOp):
        left, right = (_shape(one, here, depth - 1) for one in (node.left, node.right))
        return f"({left} {type(node.op).__name__} {right})"
    if isinstance(node, ast.UnaryOp):
        return f"({type(node.op).__name__} {_shape(node.operand, here, depth - 1)})"
    if isinstance(node, ast.Compare):
        parts = [_shape(one, here, depth - 1) for one in (node.left, *node.comparators)]
        return f"({' '.join(type(one).__name__ for one in node.ops)} {','.join(parts)})"
    if isinstance(node, ast.Subscript):
        text = _shape(node.value, here, depth - 1)
        return f"{text}[]" if COMPUTED.search(text) else OTHER
    return _of_call(node, here, depth - 1) if isinstance(node, ast.Call) else OTHER


def _of_name(node: ast.Name, here: Surroundings, depth: int) -> str:
    """Return the formula of the assignment that a name got its whole value from."""
    binding = last_binding(here.scope, node.id, here.line)
    statement, value = binding if binding is not None else (None, None)
    if value is None or statement is None or isinstance(statement, ast.AugAssign):
        return OTHER
    before = here.at(getattr(statement, "lineno", here.line))
    shape = _shape(value, before, depth)
    is_whole = any(
        isinstance(target, ast.Name) and target.id == node.id
        for target in getattr(statement, "targets", [getattr(statement, "target", None)])
    ) or any(one is value for _, one in targets_of(statement) if one is not _value(statement))
    return shape if is_whole or shape == MODEL else OTHER


def _value(statement: ast.AST) -> object:
    return getattr(statement, "value", None)


def _of_call(call: ast.Call, here: Surroundings, depth: int) -> str:
    function = call.func
    called = here.value(function)
    if is_model(called):
        return MODEL
    name = loss_of_torch(called)
    if name is not None:
        return f"{name}({MODEL},{OTHER})"
    behind = function_behind(called) if called is not None else None
    if behind is not None:
        code = behind[0].__code__
        return f"{code.co_filename}:{code.co_firstlineno}({OTHER})"
    operands = [*call.args, *(one.value for one in call.keywords)]
    if isinstance(function, ast.Attribute) and not isinstance(
        here.value(function.value), ModuleType
    ):
        if function.attr in SAME_NUMBERS:
            return _shape(function.value, here, depth)
        operands.insert(0, function.value)
    text = ",".join(_shape(one, here, depth) for one in operands)
    # What takes no operands makes data: `torch.randn(16, 4)`.
    return f"{last_word(function)}({text})" if OPERANDS.search(text) else OTHER
