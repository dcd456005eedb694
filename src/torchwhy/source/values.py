"""Expressions on their own: their operands, the numbers they spell, what they are but for casts."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Node = ast.AST
Expression = ast.expr

# Receivers that are libraries, not operands: `torch.log(p)` has the operand p, `p.log()` has p, too.
LIBRARIES = {"torch", "F", "nn", "np", "numpy", "math", "functional", "special", "linalg", "fft"}
NONFINITE_WORDS = {"nan", "inf", "infinity", "-inf", "NaN", "Infinity"}
# What changes the type or the device of a number, not its value.
CASTS = {"item", "cpu", "float", "double", "detach", "numpy", "int", "long", "type", "to", "tolist"}
NUMBERS_ALONE = (ast.Constant, ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop)


def expression_of(text: str) -> ast.expr | None:
    """Return the syntax of an expression that stands alone; None if the text is none."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None


def only_statement_of(text: str) -> ast.AST | None:
    """Return the syntax of a text that is one expression or one statement, however it is indented."""
    for attempt in (f"({text}\n)", text, textwrap.dedent(text)) if text.strip() else ():
        try:
            body = ast.parse(attempt.strip()).body
        except (SyntaxError, ValueError):
            continue
        if len(body) == 1:
            statement = body[0]
            return statement.value if isinstance(statement, ast.Expr) else statement
    return None


def text_of(node: ast.AST) -> str:
    """Return syntax as text in Python's own style; `Text.of` gives what the author wrote."""
    return ast.unparse(node)


def operand_names(node: ast.AST | None) -> list[str]:
    """Return the operands of an expression as text, in order; nothing for other syntax."""
    if isinstance(node, ast.BinOp):
        parts: list[ast.AST] = [node.left, node.right]
    elif isinstance(node, ast.AugAssign):
        parts = [node.target, node.value]
    elif isinstance(node, ast.UnaryOp):
        parts = [node.operand]
    elif isinstance(node, ast.Call):
        parts = [*_receiver(node.func), *node.args, *(one.value for one in node.keywords)]
    else:
        return []
    return [ast.unparse(part) for part in parts]


def _receiver(function: ast.AST) -> list[ast.AST]:
    """Return `p` of `p.log()`, nothing of `torch.log(p)`, `log(p)` or `self.log(p)`."""
    if not isinstance(function, ast.Attribute) or is_library(function.value):
        return []
    base = function.value
    return [] if isinstance(base, ast.Name) and base.id == "self" else [base]


def is_library(node: ast.AST) -> bool:
    """Tell whether this is `torch`, `torch.special` or another library that functions are taken from."""
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in LIBRARIES


def parts_of(node: ast.AST) -> Iterator[tuple[int | str | None, ast.AST]]:
    """Yield the operands of an expression or statement with their place among a call's arguments."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and not is_library(node.func.value):
            yield None, node.func.value
        yield from enumerate(node.args)
        yield from ((keyword.arg, keyword.value) for keyword in node.keywords)
    elif isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from ((None, target) for target in targets)
        yield None, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        yield None, node.iter
    else:
        yield from ((None, one) for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr))


def is_constant(text: str) -> bool:
    """Tell whether a text is a constant, such as `2`, `False` or `"mean"`."""
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return True


def numbers_in(node: ast.AST | None) -> list[float]:
    """Return the numbers that an expression spells, in order."""
    parts = ast.walk(node) if node is not None else ()
    values = [part.value for part in parts if isinstance(part, ast.Constant)]
    return [float(v) for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]


def is_true(node: ast.expr) -> bool:
    """Tell whether an expression is written `True`."""
    return isinstance(node, ast.Constant) and node.value is True


def is_matrix_product(node: ast.AST | None) -> bool:
    """Tell whether an expression is `a @ b`."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)


def contexts_of(header: str) -> list[ast.expr]:
    """Return `a()` and `b()` of `with a(), b():`; nothing for other text."""
    for text in (header, f"{header}\n    pass"):
        try:
            statement = ast.parse(text.strip()).body[0]
        except (SyntaxError, IndexError):
            continue
        if isinstance(statement, ast.With | ast.AsyncWith):
            return [item.context_expr for item in statement.items]
    return []


def is_numbers_alone(node: ast.expr) -> bool:
    """Tell whether an expression is written in numbers alone: `1050`, `16 * 5 * 5`."""
    return all(isinstance(part, NUMBERS_ALONE) for part in ast.walk(node))


def spells_nonfinite(node: ast.AST | None) -> bool:
    """Tell whether an expression itself spells NaN or infinity: `float('nan')`, `math.inf`, `-np.inf`, `1e999`."""
    for part in ast.walk(node) if node is not None else ():
        if isinstance(part, ast.Attribute) and part.attr in NONFINITE_WORDS:
            return True
        if isinstance(part, ast.Name) and part.id.lower().strip("_-") in ("nan", "inf", "infinity"):
            return True
        if isinstance(part, ast.Constant) and _is_nonfinite(part.value):
            return True
    return False


def _is_nonfinite(value: object) -> bool:
    if isinstance(value, str):
        return value.strip("+- ").lower() in ("nan", "inf", "infinity")
    return isinstance(value, float) and value in (float("inf"), float("-inf"))


def without_casts(node: ast.expr) -> ast.expr:
    """Return an expression without the casts around it: `correct` for `float(correct.item())`."""
    while isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in CASTS:
            node = function.value
        elif isinstance(function, ast.Name) and function.id in ("float", "int") and node.args:
            node = node.args[0]
        else:
            break
    return node


def binds_tightly(node: ast.AST | None) -> bool:
    """Tell whether a method call may follow an expression without brackets around it."""
    return isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))


def look_up(
    node: ast.AST,
    names: Mapping[str, Any],
    *,
    attribute: Callable[[Any, str], Any] | None = None,
    items: bool = False,
) -> Any:
    """Return what a name, a chain of attributes or (with `items`) an item of a plain container stands for.

    Runs no code of the program; None where there is no such value.
    """
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        holder = look_up(node.value, names, attribute=attribute, items=items)
        return None if holder is None else (attribute or stored_attribute)(holder, node.attr)
    if items and isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        holder = look_up(node.value, names, attribute=attribute, items=items)
        return _item(holder, node.slice.value)
    return None


def _item(holder: Any, key: Any) -> Any:
    if type(holder) is dict:
        return holder.get(key)
    is_place = type(holder) in (list, tuple) and type(key) is int and key < len(holder)
    return holder[key] if is_place else None


def stored_attribute(holder: Any, name: str) -> Any:
    """Return an attribute that an object has in its own dictionary, None where there is none."""
    attributes = getattr(holder, "__dict__", None)
    return attributes.get(name) if isinstance(attributes, Mapping) else None


def references_in(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the names, attributes and items in an expression, outer ones first."""
    for part in ast.walk(node):
        if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)):
            yield part


def indices_in(node: Node | None) -> int | None:
    """Return how many dimensions `x[:, -1, :]` selects along; None for other expressions."""
    if not isinstance(node, ast.Subscript):
        return None
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    added = [
        one for one in parts if isinstance(one, ast.Constant) and not isinstance(one.value, int)
    ]
    return len(parts) - len(added)
