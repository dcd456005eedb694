"""Where a thing is made: the constructor call behind an assignment, through containers and functions that build.

Classes are known by name and numbers here; whoever has the live object passes them in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.source.bindings import names_behind, values_given
from torchwhy.source.calls import argument, called, first_call, own_function, positional_names
from torchwhy.source.edits import Source
from torchwhy.source.scopes import functions, inside, methods, parameters_of, scopes
from torchwhy.source.text import Scope
from torchwhy.source.values import text_of

MOST_NAMES = 60  # followed from one constructor argument
DEEPEST = 12  # functions that call functions to build something


@dataclass(frozen=True, eq=False)
class Written:
    """An expression in a file, and the function or class around it.

    `caller` is the call that entered the function, where it was followed into one.
    """

    source: Source
    node: ast.expr
    scope: Scope
    caller: Written | None = None

    @property
    def span(self) -> SourceSpan:
        """Return the place as findings have it."""
        return self.source.span(self.node, getattr(self.scope, "name", "<module>"))

    def at(self, node: ast.expr) -> Written:
        """Return another expression of the same scope."""
        return Written(self.source, node, self.scope, self.caller)

    @property
    def call(self) -> ast.Call | None:
        """Return the expression if it is a call."""
        return self.node if isinstance(self.node, ast.Call) else None

    def argument(self, names: Sequence[str], setting: str) -> Written | None:
        """Return what the call gives for a parameter of the constructor, whose parameters are `names`."""
        given = argument(self.node, names, setting)
        return self.at(given) if given is not None else None

    def names_from_outside(self) -> list[str]:
        """Return the parameters of the function around it that the expression depends on."""
        behind = names_behind(self.node, self.scope, most=MOST_NAMES)
        return sorted(behind & parameters_of(self.scope))

    @property
    def function(self) -> ast.FunctionDef | None:
        """Return the function around it, None outside of functions."""
        return self.scope if isinstance(self.scope, ast.FunctionDef) else None

    def given_by_caller(self, name: str) -> Written | None:
        """Return what the followed call gives for a parameter of the function around the expression."""
        if self.caller is None or self.function is None:
            return None
        given = argument(self.caller.node, positional_names(self.function), name)
        return self.caller.at(given) if given is not None else None


def assigned(source: Source, *names: str) -> list[Written]:
    """Return what a file assigns to these names anywhere, scope by scope."""
    return [
        Written(source, node, scope)
        for scope in scopes(source.tree)
        for name in names
        for node in values_given(scope, name)
    ]


def named_in_functions(source: Source, name: str) -> Written | None:
    """Return the last assignment to a name in the first scope that has one, classes left out."""
    for scope in scopes(source.tree):
        found = [] if isinstance(scope, ast.ClassDef) else values_given(scope, name)
        if found:
            return Written(source, found[-1], scope)
    return None


def assigned_by_methods(source: Source, class_name: str, attribute: str) -> list[Written]:
    """Return what the methods of a class assign to an attribute of `self`."""
    return [
        Written(source, node, method)
        for method in methods(source.tree, class_name)
        for node in values_given(method, f"self.{attribute}")
    ]


def made_by_function(written: Written, files: Sequence[Source], depth: int = 0) -> list[Written]:
    """Follow `build_model()` or `self._make_layer(…)` to what the function of that name returns."""
    written = written.at(first_call(written.node))
    name = own_function(written.node)
    if name is None or depth > DEEPEST:
        return [written]
    returned = [
        one
        for source in files
        for function in functions(source.tree, name)
        for node in _returned(function)
        for one in made_by_function(Written(source, node, function, written), files, depth + 1)
    ]
    return returned or [written]


def _returned(function: ast.FunctionDef) -> Iterator[ast.expr]:
    for node in inside(function):
        if isinstance(node, ast.Return) and node.value is not None:
            if isinstance(node.value, ast.Name):
                yield from values_given(function, node.value.id)
            else:
                yield node.value


def calls_of(files: Iterable[Source], kind: str) -> Iterator[Written]:
    """Yield the calls of a class by its name, or of its lazy variant."""
    for source in files:
        for scope in scopes(source.tree):
            for node in inside(scope, lambdas=True):
                if isinstance(node, ast.Call) and may_make(node, kind):
                    yield Written(source, node, scope)


def may_make(node: ast.AST, kind: str) -> bool:
    """Tell whether a call names a class, or its lazy variant."""
    return called(node).removeprefix("Lazy") == kind or called(node) == kind


def spelled_numbers(
    node: ast.AST, names: Sequence[str], numbers: Mapping[str, object]
) -> Iterator[tuple[int, int]]:
    """Yield the numbers an object has beside those its constructor call spells out for the same parameters."""
    if not isinstance(node, ast.Call):
        return
    for name, given in [
        *zip(names, node.args, strict=False),
        *((keyword.arg or "", keyword.value) for keyword in node.keywords),
    ]:
        if isinstance(given, ast.Starred):
            return
        has = numbers.get(name)
        if type(has) is int and isinstance(given, ast.Constant) and type(given.value) is int:
            yield has, given.value


def part_of(whole: Written, position: int) -> Written | None:
    """Return one part of `nn.Sequential(a, b)`, `nn.ModuleList([a, b])`, `nn.ModuleDict({...})`."""
    arguments = whole.call.args if whole.call is not None else []
    if len(arguments) == 1 and isinstance(arguments[0], (ast.ListComp, ast.GeneratorExp)):
        return whole.at(arguments[0].elt)
    parts = _items(arguments[0]) if len(arguments) == 1 else list(arguments)
    is_spread = any(isinstance(item, ast.Starred) for item in parts[: position + 1])
    return whole.at(parts[position]) if 0 <= position < len(parts) and not is_spread else None


def _items(collection: ast.expr) -> list[ast.expr]:
    """Return the layers in a list, in a dictionary, in `OrderedDict([("name", layer)])`; else the layer itself."""
    inner = collection
    if isinstance(inner, ast.Call) and inner.args:
        inner = inner.args[0]
    if isinstance(inner, ast.Dict):
        return list(inner.values)
    if isinstance(inner, (ast.List, ast.Tuple)):
        return [
            item.elts[1] if isinstance(item, ast.Tuple) and len(item.elts) == 2 else item
            for item in inner.elts
        ]
    return [collection]


def only_call(files: Iterable[Source], kind: str) -> SourceSpan | None:
    """Return the one place where a class is called by name; None where there are several."""
    found = [
        Written(source, node, source.tree)
        for source in files
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and text_of(node.func).rpartition(".")[2] == kind
    ]
    return found[0].span if len(found) == 1 else None
