"""Statements that compute a value and throw it away: what they compute, and whether that may be on purpose."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchwhy.source.bindings import binds, reference
from torchwhy.source.scopes import FUNCTIONS, LOOPS, enclosing

if TYPE_CHECKING:
    from torchwhy.finding import SourceSpan
    from torchwhy.source.text import Text

OPERATORS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript)
TRYING = (ast.Try, getattr(ast, "TryStar", ast.Try))
# Contexts that raise no exception and catch none.
SWITCHES = ("no_grad", "enable_grad", "inference_mode", "autocast", "set_grad_enabled")


def dropped_value(source: Text, span: SourceSpan) -> ast.expr | None:
    """Return the expression at a span if it is a whole statement: its value goes nowhere."""
    node = source.at(span)
    if node is None or not isinstance(source.parents.get(node), ast.Expr):
        return None
    return node if isinstance(node, (ast.Call, *OPERATORS)) else None


def may_be_a_trial(source: Text, node: ast.expr) -> bool:
    """Tell whether the statement may be there for the exception it raises: in a `try`, or in a `with`.

    A `with` that only switches gradients or autocast off is none.
    """
    for around in source.around(node):
        if isinstance(around, TRYING):
            return True
        if isinstance(around, (ast.With, ast.AsyncWith)) and not all(
            _is_switch(item.context_expr) for item in around.items
        ):
            return True
        if isinstance(around, FUNCTIONS):
            break
    return False


def _is_switch(context: ast.expr) -> bool:
    function = context.func if isinstance(context, ast.Call) else context
    return isinstance(function, ast.Attribute) and function.attr in SWITCHES


def may_be_shown(source: Text, node: ast.expr) -> bool:
    """Tell whether an editor that runs a file cell by cell may show the value: outside of loops and functions."""
    return enclosing(source, node, *FUNCTIONS, *LOOPS) is None


def torch_function(source: Text, function: ast.expr) -> str | None:
    """Return `torch.nn.functional.relu` for what a file calls `F.relu`; None for other packages' and own functions."""
    words: list[str] = []
    while isinstance(function, ast.Attribute):
        words.append(function.attr)
        function = function.value
    if not isinstance(function, ast.Name):
        return None
    root = _imported(source, function.id)
    if root is None or root.partition(".")[0] != "torch":
        return None
    return ".".join([root, *reversed(words)])


def _imported(source: Text, name: str) -> str | None:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname == name:
                    return alias.name
                if alias.asname is None and alias.name.partition(".")[0] == name:
                    return name
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return f"{node.module}.{alias.name}"
    return None


def own_layer(node: ast.expr) -> str | None:
    """Return the attribute that holds a layer: `drop` for `self.drop(x)`, `drops` for `self.drops[i](x)`."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Subscript):
        function = function.value
    is_own = isinstance(function, ast.Attribute) and _is_self(function.value)
    return function.attr if is_own and isinstance(function, ast.Attribute) else None


def replaceable(source: Text, node: ast.expr) -> str | None:
    """Return the variable that the statement was meant to change: `x` of `x.clamp(0, 1)`; None if that is not plain."""
    operand = _first_operand(source, node)
    if operand is None:
        return None
    if isinstance(operand, ast.Name):
        scope = source.scope_of(node)
        is_known = isinstance(scope, ast.Module) or binds(scope, operand.id)
        return operand.id if is_known else None
    return reference(operand) if isinstance(operand, ast.Attribute) else None


def _first_operand(source: Text, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.BinOp):
        return node.left
    if isinstance(node, ast.UnaryOp):
        return node.operand
    if not isinstance(node, ast.Call):
        return None
    is_method = torch_function(source, node.func) is None and own_layer(node) is None
    if isinstance(node.func, ast.Attribute) and is_method:
        return node.func.value
    return node.args[0] if node.args and not isinstance(node.args[0], ast.Starred) else None


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")
