"""Calls in the source: what is called, on what, with which arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchwhy.source.scopes import inside

if TYPE_CHECKING:
    from torchwhy.source.text import Text

Call = ast.Call


def last_word(function: ast.expr) -> str | None:
    """Return `log` for `torch.log` and for `log`."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


def module_names(source: Text) -> set[str]:
    """Return the names under which modules are imported: `torch`, `F`, `np`."""
    found = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            found |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names if alias.name.islower()}
    return found


def root_name(node: ast.expr) -> str | None:
    """Return `torch` for `torch.nn.functional.relu`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def is_method(source: Text, call: ast.Call) -> bool:
    """Tell whether this is `x.log()` and not `torch.log(x)` or `log(x)`."""
    if not isinstance(call.func, ast.Attribute) or is_own(call):
        return False
    return root_name(call.func.value) not in module_names(source)


def is_own(node: ast.expr | None) -> bool:
    """Tell whether this is `self.layer(x)`, which is no operation on `self`, whatever its name."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner = node.func.value
    return isinstance(owner, ast.Name) and owner.id in ("self", "cls")


def operand_of(source: Text, node: ast.expr, *, number: int = 0) -> ast.expr | None:
    """Return an operand of a call, a method call or an operator; a method's own value is number 0."""
    if isinstance(node, ast.BinOp):
        return (node.left, node.right)[number] if number < 2 else None
    if not isinstance(node, ast.Call):
        return None
    values: list[ast.expr] = list(node.args)
    if is_method(source, node):
        assert isinstance(node.func, ast.Attribute)
        values.insert(0, node.func.value)
    if number < len(values):
        return values[number] if not isinstance(values[number], ast.Starred) else None
    names = ("input", "other") if number < 2 else ()
    return keyword(node, *names[number : number + 1])


def keyword(call: ast.Call, *names: str) -> ast.expr | None:
    """Return the value of the first of these keywords that a call has."""
    for name in names:
        for given in call.keywords:
            if given.arg == name:
                return given.value
    return None


def optimizer_calls(source: Text) -> Iterator[ast.Call]:
    """Yield the calls that make optimizers of torch."""
    kinds = (
        "SGD",
        "Adam",
        "AdamW",
        "RMSprop",
        "Adagrad",
        "Adadelta",
        "NAdam",
        "RAdam",
        "Adamax",
        "LBFGS",
        "Rprop",
    )
    yield from source.calls(*kinds)


def word_of(node: ast.expr | None) -> str | None:
    """Return the last word of what a call calls: `softmax` for `torch.softmax(x)`."""
    return last_word(node.func) if isinstance(node, ast.Call) else None


def torch_name(source: Text) -> str | None:
    """Return the name under which torch is imported in this file."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "torch":
                    return alias.asname or "torch"
                if alias.name.startswith("torch.") and alias.asname is None:
                    return "torch"
    return None


def calls_in(scope: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls of a scope, without those of functions in it."""
    yield from (node for node in inside(scope) if isinstance(node, ast.Call))


def called(node: ast.AST | None) -> str:
    """Return the last word of what a call calls, nothing for other syntax or `f()()`."""
    return (last_word(node.func) or "") if isinstance(node, ast.Call) else ""


def method_of(node: ast.AST | None, name: str) -> tuple[ast.Attribute, ast.expr] | None:
    """Return `x.view` and `x` of the call `x.view(…)`; None for other syntax and other methods."""
    function = node.func if isinstance(node, ast.Call) else None
    if not isinstance(function, ast.Attribute) or function.attr != name:
        return None
    return function, function.value


def own_function(node: ast.expr) -> str | None:
    """Return the name of a called function or method of `self`: `build()`, `self.build()`."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if is_own(node) and isinstance(node.func, ast.Attribute) else None


def first_call(node: ast.expr) -> ast.expr:
    """Return `Net()` of `Net().to(device)`."""
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Call)
    ):
        node = node.func.value
    return node


def argument(call: ast.expr | None, names: Sequence[str], name: str) -> ast.expr | None:
    """Return what a call gives for a parameter; `names` are the parameters in their order, without `self`."""
    if not isinstance(call, ast.Call):
        return None
    given = keyword(call, name)
    if given is not None or name not in names:
        return given
    place = names.index(name)
    is_spread = any(isinstance(one, ast.Starred) for one in call.args)
    return call.args[place] if place < len(call.args) and not is_spread else None


def positional_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return a function's parameters in their order, without `self`."""
    names = [one.arg for one in function.args.args]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def receiver(call: ast.AST) -> ast.expr:
    """Return `loss` of `loss.backward()`, also of `scaler.scale(loss).backward()` and `accelerator.backward(loss)`."""
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    if call.args:
        return call.args[0]
    holder = call.func.value
    if isinstance(holder, ast.Call) and isinstance(holder.func, ast.Attribute):
        is_scaled = holder.func.attr == "scale" and bool(holder.args)
        return holder.args[0] if is_scaled else holder
    return holder
