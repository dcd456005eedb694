"""Finds where the graph of a loss was cut: reads the source backwards from the loss, guided by live values."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch import nn

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.program.user_modules import user_sources
from torchwhy.plain_data import dataclass
from torchwhy.replay.crash.frames.lookup import Lookup, Unknown
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts, line_of, user_frames
from torchwhy.replay.crash.hidden.state_holders import modules_in
from torchwhy.source.analyses.training_statements import freezing
from torchwhy.source.bindings import last_binding, reference
from torchwhy.source.calls import receiver
from torchwhy.source.files import layer_of, loaded, scope_of, span_in
from torchwhy.source.scopes import covers, inside, line_at
from torchwhy.source.values import text_of

# Methods that take a value out of its graph, and functions that make a new tensor or number of it.
METHODS = frozenset(
    {
        *("item", "tolist", "numpy", "detach", "detach_", "argmax", "argmin", "argsort"),
        *("long", "int", "bool", "eq", "ne", "gt", "lt", "ge", "le", "one_hot"),
    }
)
MAKERS = frozenset(
    {"tensor", "as_tensor", "from_numpy", "Tensor", "FloatTensor", "float", "Variable"}
)
SWITCHES = ("no_grad", "inference_mode")
MOST_HOPS = 60


@dataclass(frozen=True, eq=False)
class Place:
    """Where the search is: a scope of the source, and the frame that runs it if it is still alive."""

    scope: ast.AST
    code: CodeType
    namespace: dict[str, Any]
    lookup: Lookup | None = None

    def value(self, node: ast.AST) -> Any:
        """Return the live value of an expression, None if it is unknown."""
        if self.lookup is None:
            return None
        try:
            return self.lookup.value(node)
        except (Unknown, AttributeError, KeyError, IndexError, TypeError, RuntimeError):
            return None


@dataclass(frozen=True)
class Cut:
    """The expression that cut the graph; `kind` is the name of a method or function, or what else it is."""

    where: SourceSpan
    kind: str
    switch: str | None = None  # what the variable of a `with` statement holds


def look(frames: list[TracebackFrame]) -> HiddenFacts:
    """Return where the graph was cut: the place `cut` and the facts `kind`, `switch`, `loss`."""
    hidden = HiddenFacts()
    users = user_frames(frames)
    call = backward_call(users[0]) if users else None
    if call is None:
        return hidden
    loss = receiver(call)
    hidden.facts["loss"] = text_of(loss)
    cut = Search().in_frames(users, loss) or _switched_off(users)
    if cut is not None:
        hidden.facts["kind"] = cut.kind
        if cut.switch is not None:
            hidden.facts["switch"] = cut.switch
        hidden.places["cut"] = cut.where
    return hidden


def backward_call(frame: TracebackFrame) -> ast.Call | None:
    """Return the call of `backward` or `grad` that a frame was executing."""
    scope = scope_of(frame.code)
    for node in inside(scope) if scope is not None else ():
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr in ("backward", "grad") and covers(node, line_of(frame)):
            return node
    return None


class Search:
    """A walk from the loss back through assignments, calls and returns; innermost and earliest cut first."""

    def __init__(self) -> None:
        self._hops = 0
        self._seen: set[tuple[int, int, int]] = set()

    def in_frames(self, users: list[TracebackFrame], loss: ast.expr) -> Cut | None:
        """Look in the frame that called backward, then where its caller made what it passed in."""
        for depth, frame in enumerate(users):
            scope = scope_of(frame.code)
            if scope is None:
                return None
            place = Place(scope, frame.code, frame.globals, Lookup(frame.live))
            line = line_of(frame)
            cut = self.of(loss, place, line=line)
            if cut is not None or depth + 1 >= len(users):
                return cut
            passed = _argument(frame, users[depth + 1], loss)
            if passed is None:
                return None
            loss = passed
        return None

    def of(self, node: ast.AST, place: Place, *, line: int) -> Cut | None:
        """Return the cut in an expression or behind the names in it; None if its value has a graph."""
        key = (id(node), line, id(place.scope))
        self._hops += 1
        if self._hops > MOST_HOPS * 10 or key in self._seen:
            return None
        self._seen.add(key)
        if isinstance(node, (ast.Name, ast.Attribute)) and reference(node) is not None:
            return self._of_name(node, place, line=line)
        for child in _contributing(node):
            if isinstance(child, (ast.expr, ast.keyword, ast.comprehension)):
                found = self.of(child, place, line=line)
                if found is not None:
                    return found
        return self._of_itself(node, place, line=line)

    def _of_name(self, node: ast.expr, place: Place, *, line: int) -> Cut | None:
        name = reference(node) or ""
        value = place.value(node)
        if isinstance(value, torch.Tensor) and value.requires_grad:
            return None
        if isinstance(node, ast.Attribute) and node.attr == "data":
            return _cut(node, place, "data")
        if (
            value is not None
            and not isinstance(value, (torch.Tensor, float, int))
            and type(value).__module__ != "numpy"
        ):
            return None
        made = last_binding(place.scope, name, line)
        statement, expression = made if made is not None else (node, None)
        if expression is None:
            return (
                self.of(node.value, place, line=line) if isinstance(node, ast.Attribute) else None
            )
        found = self.of(expression, place, line=line_at(statement))
        if found is None and isinstance(statement, ast.AugAssign):
            earlier = last_binding(place.scope, name, line_at(statement))
            if earlier is not None and earlier[1] is not None and earlier[0] is not statement:
                found = self.of(earlier[1], place, line=line_at(earlier[0]))
        return found or _under_switch(line_at(statement), place)

    def _of_itself(self, node: ast.AST, place: Place, *, line: int) -> Cut | None:
        if isinstance(node, ast.Compare):
            if _has_no_graph(node.left, place):
                return None
            return _cut(node, place, "comparison")
        if not isinstance(node, ast.Call):
            return None
        function = node.func
        last = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if isinstance(function, ast.Attribute) and last in METHODS:
            if _has_no_graph(function.value, place):
                return None
            return _cut(node, place, last)
        if (
            last in MAKERS
            and node.args
            and (not isinstance(function, ast.Attribute) or _is_torch(function))
        ):
            if isinstance(node.args[0], (ast.Constant, ast.List, ast.Tuple)) and not _mentions(
                node.args[0]
            ):
                return None
            return _cut(node, place, last)
        return self._in_callee(node, place, line=line)

    def _in_callee(self, call: ast.Call, place: Place, *, line: int) -> Cut | None:  # noqa: ARG002
        """Look at what a function of the user's returns."""
        for function in _functions_of(call, place):
            scope = scope_of(function.__code__)
            if scope is None or layer_of(function.__code__.co_filename) != "user":
                continue
            inner = Place(scope, function.__code__, function.__globals__)
            decorated = _decorated(scope, inner)
            if decorated is not None:
                return decorated
            for node in inside(scope):
                if isinstance(node, ast.Return) and node.value is not None:
                    found = self.of(node.value, inner, line=node.lineno) or _under_switch(
                        node.lineno, inner
                    )
                    if found is not None:
                        return found
        return None


def _contributing(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of an expression that its value is made of: a condition only chooses."""
    if isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    else:
        yield from ast.iter_child_nodes(node)


def _has_no_graph(node: ast.AST, place: Place) -> bool:
    """Tell whether there was nothing to cut: labels are often computed from data, which has no graph.

    Only floats prove it: `out = out.argmax(1)` leaves integers of a value that had a graph.
    """
    if isinstance(node, ast.Compare):
        return _has_no_graph(
            node.left, place
        )  # `(x[:, 0] > 0).long()` has a graph to cut if `x[:, 0]` has
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    if all(isinstance(place.value(name), ModuleType) for name in names):
        return True  # `random.random()`
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute) and function.attr in METHODS:
        return _has_no_graph(function.value, place)
    if reference(node) is not None and isinstance(node, ast.Name):
        made = last_binding(place.scope, node.id, sys.maxsize)
        if made is not None and made[1] is not None and node in ast.walk(made[1]):
            return False  # the name has another value by now
    value = place.value(node)
    is_real = isinstance(value, torch.Tensor) and value.is_floating_point()
    return is_real and not value.requires_grad


def _cut(node: ast.AST, place: Place, kind: str) -> Cut:
    return Cut(span_in(place.code, node), kind)


def _mentions(node: ast.AST) -> bool:
    return any(isinstance(part, (ast.Name, ast.Call)) for part in ast.walk(node))


def _is_torch(function: ast.Attribute) -> bool:
    return text_of(function.value) in ("torch", "torch.autograd", "autograd")


def _under_switch(line: int, place: Place) -> Cut | None:
    """Return the `with torch.no_grad():` around a line."""
    for node in inside(place.scope):
        if isinstance(node, (ast.With, ast.AsyncWith)) and covers(node, line):
            for item in node.items:
                if _switches_off(item.context_expr):
                    return _cut(node, place, "no_grad")
                named = _switch_named(item.context_expr, place, node.lineno)
                if named is not None:
                    return replace(_cut(node, place, "no_grad"), switch=named)
    return None


def _switch_named(node: ast.expr, place: Place, line: int) -> str | None:
    """Return the `torch.no_grad()` that a variable holds, perhaps only under a condition."""
    name = reference(node)
    made = last_binding(place.scope, name, line) if name is not None else None
    parts = ast.walk(made[1]) if made is not None and made[1] is not None else ()
    calls = (part for part in parts if isinstance(part, ast.Call) and _switches_off(part))
    return next((text_of(call) for call in calls), None)


def switch_around(sites: tuple[Site, ...]) -> SourceSpan | None:
    """Return the `with torch.no_grad():` or decorator around the innermost of these places."""
    for site in sites:
        scope = scope_of(site.code)
        if scope is None:
            continue
        place = Place(scope, site.code, {})
        cut = _under_switch(span_of(site).line, place) or _decorated(scope, place)
        if cut is not None:
            return cut.where
    return None


def _switches_off(node: ast.AST) -> bool:
    text = text_of(node)
    if text.rpartition(".")[2].split("(")[0] in SWITCHES:
        return True
    return text.endswith(("set_grad_enabled(False)", "set_grad_enabled(mode=False)"))


def _decorated(scope: ast.AST, place: Place) -> Cut | None:
    for decorator in getattr(scope, "decorator_list", ()):
        if _switches_off(decorator):
            return _cut(decorator, place, "no_grad")
    return None


def _functions_of(call: ast.Call, place: Place) -> Iterator[FunctionType]:
    """Yield the user's functions that a call may run: a function, a method, a module's `forward`."""
    value = place.value(call.func)
    if value is None and isinstance(call.func, ast.Name):
        value = place.namespace.get(call.func.id)
    if isinstance(value, nn.Module):
        value = type(value).forward
    elif isinstance(value, MethodType):
        value = value.__func__
    elif value is not None and not isinstance(value, (FunctionType, type)):
        value = inspect.getattr_static(type(value), "__call__", None)
    value = inspect.unwrap(value) if callable(value) else None
    if isinstance(value, FunctionType):
        yield value


def _argument(inner: TracebackFrame, outer: TracebackFrame, loss: ast.expr) -> ast.expr | None:
    """Return the expression that the caller passed for the parameter that the loss is."""
    name = reference(loss)
    code = inner.code
    names = list(code.co_varnames[: code.co_argcount])
    node = outer.node
    if name not in names or not isinstance(node, ast.Call):
        return None
    place = names.index(name) - (names[0] == "self" and isinstance(node.func, ast.Attribute))
    for keyword in node.keywords:
        if keyword.arg == name:
            return keyword.value
    return node.args[place] if 0 <= place < len(node.args) else None


def _switched_off(users: list[TracebackFrame]) -> Cut | None:
    """Look for what stops all gradients: recording switched off, or frozen weights."""
    for frame in users:
        scope = scope_of(frame.code)
        place = Place(scope, frame.code, frame.globals) if scope is not None else None
        around = _under_switch(line_of(frame), place) if place is not None else None
        if around is not None:
            return around
    found = _statement(users, lambda text: text.endswith("set_grad_enabled(False)"))
    if found is not None:
        return Cut(
            found, "recording of graphs was switched off here, and not on again", "switched-off"
        )
    modules = [
        module for frame in users for _, module in modules_in(frame) if list(module.parameters())
    ]
    if modules and not any(p.requires_grad for module in modules for p in module.parameters()):
        found = _statement(users, _freezes) or next(iter(freezing(user_sources())), None)
        if found is not None:
            return Cut(found, "frozen")
    return None


def codes_of(module: nn.Module) -> list[CodeType]:
    """Return the code of the `forward` of every class of the user's in a model."""
    kinds = {
        type(part) for part in module.modules() if not type(part).__module__.startswith("torch.")
    }
    return [kind.forward.__code__ for kind in kinds if hasattr(kind.forward, "__code__")]


def _freezes(text: str) -> bool:
    squeezed = text.replace(" ", "")
    return "requires_grad=False" in squeezed or "requires_grad_(False)" in squeezed


def _statement(users: list[TracebackFrame], wanted: Any) -> SourceSpan | None:
    """Return the first simple statement of the program's files whose text is wanted."""
    files = [frame.filename for frame in users]
    files += [
        code.co_filename
        for frame in users
        for _, module in modules_in(frame)
        for code in codes_of(module)
    ]
    for filename in dict.fromkeys(files):
        source = loaded(filename)
        for node in ast.walk(source.tree) if source is not None else ():
            if isinstance(node, (ast.Expr, ast.Assign)) and wanted(text_of(node)):
                return source.span(node) if source is not None else None
    return None
