"""Where a layer was made, and where the number it was made with is written: read off the source, never run."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.names import Names
from torchwhy.observe.program.user_modules import user_files
from torchwhy.observe.torch_features.module_parts import parts_in
from torchwhy.replay.crash.frames.source_files import (
    Scope,
    Written,
    assignments,
    own_nodes,
    scopes,
    tree_of,
)
from torchwhy.source.files import layer_of

CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
MOST_NAMES = 60  # followed from one constructor argument
DEEPEST = 12  # steps from a layer up through its owners


class Builder:
    """Finds the constructor expressions of the modules in a program."""

    def __init__(self, names: Names, files: list[str]) -> None:
        self._owners: dict[int, tuple[nn.Module, str]] = {}
        self._roots: dict[int, str] = {}
        self._files = list(dict.fromkeys([*files, *user_files()]))
        for name, root in names.roots():
            self._roots[id(root)] = name
            for parent in root.modules():
                for attribute, child in parts_in(parent).items():
                    if child is not None:
                        self._owners.setdefault(id(child), (parent, attribute))

    def only_call_of(self, kind: str) -> SourceSpan | None:
        """Return the one place in the user's files where a class is called by name; None where there are several."""
        found = [
            Written(filename, node, tree)
            for filename in self._files
            if (tree := tree_of(filename)) is not None
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == kind
        ]
        return found[0].span if len(found) == 1 else None

    def made_at(self, module: nn.Module, depth: int = 0) -> Written | None:
        """Return the expression that made a module."""
        if depth > DEEPEST:
            return None
        found = None
        owner = self._owners.get(id(module))
        if owner is None:
            found = self._of_variable(module)
        elif isinstance(owner[0], CONTAINERS):
            whole = self.made_at(owner[0], depth + 1)
            found = _part(whole, owner[0], owner[1]) if whole is not None else None
        else:
            found = self._of_attribute(module, *owner)
        if found is None or _contradicts(found.node, module) or not _may_make(found.node, module):
            return self._only_candidate(module) or found
        return found

    def number_at(
        self,
        module: nn.Module,
        setting: str,
        *,
        is_fed: Callable[[nn.Module], bool],
        depth: int = 0,
    ) -> Written | None:
        """Return the expression that gives a module one of its numbers.

        A number that comes through the constructor of the module's owner is followed to where the owner is made, if
        `is_fed` says that it is the owner's own input which does not fit; otherwise the owner itself mixed it up.
        """
        made = self.made_at(module)
        if made is None or not isinstance(made.node, ast.Call) or depth > DEEPEST:
            return None
        given = argument_of(made.node, module, setting)
        if given is None:
            return None
        written = Written(made.filename, given, made.scope, made.caller)
        return self._followed(written, module, is_fed=is_fed, depth=depth)

    def _followed(
        self,
        written: Written,
        module: nn.Module,
        *,
        is_fed: Callable[[nn.Module], bool],
        depth: int,
    ) -> Written:
        """Follow a number out of the function or the constructor that got it as a parameter."""
        names = sorted(_behind(written.node, written.scope) & _parameters(written.scope))
        owner = self._owners.get(id(module))
        if written.caller is not None and isinstance(written.scope, ast.FunctionDef):
            if owner is not None and isinstance(owner[0], CONTAINERS) and not is_fed(owner[0]):
                return written
            caller = written.caller
            for name in names:
                given = _function_argument(caller.node, written.scope, name)
                if given is not None and depth < DEEPEST:
                    outer = Written(caller.filename, given, caller.scope, caller.caller)
                    return self._followed(outer, module, is_fed=is_fed, depth=depth + 1)
            return written
        while owner is not None and isinstance(owner[0], CONTAINERS):
            owner = self._owners.get(id(owner[0]))
        if owner is None or not is_fed(owner[0]):
            return written
        for name in names:
            found = self.number_at(owner[0], name, is_fed=is_fed, depth=depth + 1)
            if found is not None:
                return found
        return written

    def _of_attribute(self, module: nn.Module, parent: nn.Module, attribute: str) -> Written | None:
        """Return what the parent's class assigns to the attribute that holds the module."""
        found = class_assignments(type(parent), attribute)
        return _best([one for each in found for one in self._made_by_function(each)], module)

    def _of_variable(self, module: nn.Module) -> Written | None:
        """Return what the program assigns to the variable that holds an outermost module."""
        found = self._assigned(module)
        return _best([one for each in found for one in self._made_by_function(each)], module)

    def _assigned(self, module: nn.Module) -> list[Written]:
        name = self._roots.get(id(module))
        found: list[Written] = []
        for filename in self._files if name is not None else []:
            for scope in scopes(filename):
                nodes = [*assignments(scope, f"{name}"), *assignments(scope, f"self.{name}")]
                found += [Written(filename, node, scope) for node in nodes]
            if found:
                break
        return found

    def _made_by_function(self, written: Written, depth: int = 0) -> list[Written]:
        """Follow `build_model()` or `self._make_layer(…)` to what the function of that name returns."""
        call = _innermost_call(written.node)
        written = Written(written.filename, call, written.scope, written.caller)
        name = _function_name(call)
        if name is None or depth > DEEPEST:
            return [written]
        returned = [
            one
            for filename in self._files
            for scope in scopes(filename)
            if isinstance(scope, ast.FunctionDef) and scope.name == name
            for node in _returned(scope)
            for one in self._made_by_function(Written(filename, node, scope, written), depth + 1)
        ]
        return returned or [written]

    def _only_candidate(self, module: nn.Module) -> Written | None:
        """Return the one constructor call in the user's files that fits the module's class and numbers."""
        found = [
            Written(filename, node, scope)
            for filename in self._files
            for scope in scopes(filename)
            for node in own_nodes(scope)
            if isinstance(node, ast.Call)
            and _may_make(node, module)
            and not _contradicts(node, module)
        ]
        best = found[0] if len(found) == 1 else _most_exact(found, module)
        if best is None or not isinstance(best.scope, ast.FunctionDef):
            return best
        return Written(best.filename, best.node, best.scope, self._caller_of(module, best.scope))

    def _caller_of(self, module: nn.Module, scope: ast.FunctionDef) -> Written | None:
        """Return the call of a function that made the outermost container of a module."""
        holder, owner = module, self._owners.get(id(module))
        while owner is not None and isinstance(owner[0], CONTAINERS):
            holder, owner = owner[0], self._owners.get(id(owner[0]))
        found = (
            self._assigned(holder) if owner is None else class_assignments(type(owner[0]), owner[1])
        )
        for written in found:
            call = _innermost_call(written.node)
            if _function_name(call) == scope.name:
                return Written(written.filename, call, written.scope)
        return None


def class_assignments(kind: type, attribute: str) -> list[Written]:
    """Return what the methods of a class of the user's assign to an attribute of `self`."""
    found: list[Written] = []
    for base in kind.__mro__:
        filename = _file_of(base)
        for scope in _methods(filename, base.__name__) if filename is not None else ():
            found += [
                Written(filename, node, scope)
                for node in assignments(scope, f"self.{attribute}")
                if filename
            ]
    return found


def argument_of(call: ast.Call, module: nn.Module, setting: str) -> ast.expr | None:
    """Return the expression a constructor call gives for one parameter."""
    for keyword in call.keywords:
        if keyword.arg == setting:
            return keyword.value
    if any(isinstance(item, ast.Starred) for item in call.args):
        return None
    names = constructor_names(module)
    if setting in names and names.index(setting) < len(call.args):
        return call.args[names.index(setting)]
    return None


def constructor_names(module: nn.Module) -> list[str]:
    """Return the parameters of a module's constructor; a recurrent layer hands all of them on to its base class."""
    try:
        if isinstance(module, nn.RNNBase):
            return list(inspect.signature(nn.RNNBase.__init__).parameters)[2:]
        return list(inspect.signature(type(module).__init__).parameters)[1:]
    except (TypeError, ValueError):
        return []


def _may_make(node: ast.AST, module: nn.Module) -> bool:
    """Tell whether a call names the module's class."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    kind = type(module).__name__
    return name == kind or (kind == name.removeprefix("Lazy"))


def _contradicts(node: ast.AST, module: nn.Module) -> bool:
    """Tell whether a plain number in the call is not the number that the module has."""
    return isinstance(node, ast.Call) and any(has != says for has, says in _pairs(node, module))


def _pairs(call: ast.Call, module: nn.Module) -> Iterator[tuple[Any, Any]]:
    for name, node in [
        *zip(constructor_names(module), call.args, strict=False),
        *((keyword.arg or "", keyword.value) for keyword in call.keywords),
    ]:
        if isinstance(node, ast.Starred):
            return
        has = vars(module).get(name)
        if type(has) is int and isinstance(node, ast.Constant) and type(node.value) is int:
            yield has, node.value


def _most_exact(found: list[Written], module: nn.Module) -> Written | None:
    """Return the candidate that spells out more of the module's numbers than any other."""
    scored = sorted(found, key=lambda one: -_agreement(one.node, module))
    if not scored or (
        len(scored) > 1 and _agreement(scored[0].node, module) == _agreement(scored[1].node, module)
    ):
        return None
    return scored[0]


def _agreement(node: ast.AST, module: nn.Module) -> int:
    return (
        sum(has == says for has, says in _pairs(node, module)) if isinstance(node, ast.Call) else 0
    )


def _best(found: list[Written], module: nn.Module) -> Written | None:
    """Return the last assignment that can have made the module."""
    fitting = [one for one in found if not _contradicts(one.node, module)]
    named = [one for one in fitting if _may_make(one.node, module)]
    return (named or fitting or [None])[-1]  # type: ignore[list-item]


def _part(whole: Written, container: nn.Module, key: str) -> Written | None:
    """Return the part of `nn.Sequential(a, b)`, `nn.ModuleList([a, b])`, `nn.ModuleDict({...})` that a key names."""
    if not isinstance(whole.node, ast.Call):
        return None
    arguments = whole.node.args
    if len(arguments) == 1 and isinstance(arguments[0], (ast.ListComp, ast.GeneratorExp)):
        return Written(whole.filename, arguments[0].elt, whole.scope, whole.caller)
    parts: list[ast.expr] = list(arguments)
    if len(arguments) == 1:
        inner = arguments[0]
        if isinstance(inner, ast.Call) and inner.args:  # OrderedDict([...])
            inner = inner.args[0]
        if isinstance(inner, ast.Dict):
            parts = list(inner.values)
        elif isinstance(inner, (ast.List, ast.Tuple)):
            parts = [
                item.elts[1] if isinstance(item, ast.Tuple) and len(item.elts) == 2 else item
                for item in inner.elts
            ]
    position = list(parts_in(container)).index(key) if key in parts_in(container) else -1
    if any(
        isinstance(item, ast.Starred) for item in parts[: position + 1]
    ) or not 0 <= position < len(parts):
        return None
    return Written(whole.filename, parts[position], whole.scope, whole.caller)


def _methods(filename: str, class_name: str) -> Iterator[Scope]:
    for scope in scopes(filename):
        if isinstance(scope, ast.ClassDef) and scope.name == class_name:
            yield from (
                item
                for item in scope.body
                if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))
            )


def _parameters(scope: Scope) -> set[str]:
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return set()
    return {argument.arg for argument in (*scope.args.args, *scope.args.kwonlyargs)}


def _behind(node: ast.expr, scope: Scope) -> set[str]:
    """Return the names an expression depends on, through assignments and loops of the same function."""
    found: set[str] = set()
    waiting = [node]
    while waiting and len(found) < MOST_NAMES:
        names = {part.id for part in ast.walk(waiting.pop()) if isinstance(part, ast.Name)} - found
        found |= names
        for name in names:
            waiting += assignments(scope, name)
            waiting += [loop.iter for loop in own_nodes(scope) if _binds(loop, name)]  # type: ignore[attr-defined]
    return found


def _binds(node: ast.AST, name: str) -> bool:
    """Tell whether a loop or comprehension gives a name its values."""
    if not isinstance(node, (ast.For, ast.comprehension)):
        return False
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node.target))


def _returned(scope: ast.FunctionDef) -> Iterator[ast.expr]:
    for node in own_nodes(scope):
        if isinstance(node, ast.Return) and node.value is not None:
            if isinstance(node.value, ast.Name):
                yield from assignments(scope, node.value.id)
            else:
                yield node.value


def _innermost_call(node: ast.expr) -> ast.expr:
    """Return `Net()` of `Net().to(device)`."""
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Call)
    ):
        node = node.func.value
    return node


def _function_name(node: ast.expr) -> str | None:
    """Return the name of a called function or method of `self`."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Name):
        return node.func.id
    is_own = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
    if is_own and node.func.value.id in ("self", "cls"):  # type: ignore[attr-defined]
        return str(node.func.attr)  # type: ignore[attr-defined]
    return None


def _function_argument(call: ast.expr, scope: ast.FunctionDef, name: str) -> ast.expr | None:
    """Return the expression that a call gives for a parameter of a function."""
    if not isinstance(call, ast.Call) or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    names = [argument.arg for argument in scope.args.args]
    if names[:1] in (["self"], ["cls"]):
        names = names[1:]
    place = names.index(name) if name in names else len(call.args)
    return call.args[place] if place < len(call.args) else None


def _file_of(kind: type) -> str | None:
    """Return the file of a class of the user's."""
    module = sys.modules.get(kind.__module__)
    filename = getattr(module, "__file__", None)
    if not isinstance(filename, str) or layer_of(filename) != "user" or tree_of(filename) is None:
        return None
    return filename
