"""Finds where the number of an expression is written: a constant, a default, a setting, another file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchwhy.source.bindings import assignments
from torchwhy.source.calls import keyword, word_of
from torchwhy.source.edits import Source

LONGEST_CHAIN = 6  # names between a use and its number; a longer chain is a cycle
SETTINGS = ("Namespace", "SimpleNamespace", "dict", "Munch", "EasyDict", "DotDict")


class WrittenNumber(NamedTuple):
    """A number as it is written in one file of the program."""

    source: Source
    node: ast.expr

    @property
    def number(self) -> float:
        """Return its value."""
        return float(ast.literal_eval(self.node))


def chain_of(
    source: Source, node: ast.expr | None, depth: int = LONGEST_CHAIN
) -> Iterator[tuple[Source, ast.expr]]:
    """Yield an expression and those that define its value, with their files: `args.lr`, `default`, `0.1`."""
    if node is None or depth == 0:
        return
    yield source, node
    if isinstance(node, ast.Call) and word_of(node) == "float" and node.args:
        yield from chain_of(source, node.args[0], depth - 1)
    for file, value in _definitions(source, node):
        yield from chain_of(file, value, depth - 1)


def written(
    source: Source, node: ast.expr | None, depth: int = LONGEST_CHAIN
) -> WrittenNumber | None:
    """Return where the number of an expression is written; None if there is not exactly one such place."""
    if node is None or depth == 0:
        return None
    if is_number(node):
        return WrittenNumber(source, node)
    if word_of(node) == "float" and isinstance(node, ast.Call) and len(node.args) == 1:
        return written(source, node.args[0], depth - 1)
    for file, value in _definitions(source, node):
        found = written(file, value, depth - 1)
        if found is not None:
            return found
    return None


def is_number(node: ast.expr) -> bool:
    """Tell whether an expression is a literal number: `1e-3`, `-2`."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return False
    return isinstance(value, int | float) and not isinstance(value, bool)


def _definitions(source: Source, node: ast.expr) -> Iterator[tuple[Source, ast.expr]]:
    """Yield the expressions that define the value of a name, attribute, key or setting, the nearest first."""
    if isinstance(node, ast.Name):
        yield from _of_name(source, node)
    elif isinstance(node, ast.Attribute):
        yield from _of_setting(source, node.attr)
        yield from _of_module(source, node)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        yield from _of_setting(source, str(node.slice.value))
    elif isinstance(node, ast.Call) and word_of(node) in ("get", "getattr", "getenv"):
        names = [one.value for one in node.args if isinstance(one, ast.Constant)]
        if names and isinstance(names[0], str):
            yield from _of_setting(source, names[0])
        if len(node.args) > 1:
            yield source, node.args[-1]


def _of_name(source: Source, node: ast.Name) -> Iterator[tuple[Source, ast.expr]]:
    scope = source.scope_of(node)
    for place in dict.fromkeys((scope, source.tree)):
        made = assignments(node.id, within=place)
        if place is source.tree:
            made = [one for one in made if source.scope_of(one) is source.tree]
        if len(made) == 1:
            value = getattr(made[0], "value", None)
            target = getattr(made[0], "targets", [getattr(made[0], "target", None)])[0]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                value = _same_place(target, value, node.id)
            if isinstance(value, ast.expr) and not isinstance(made[0], ast.AugAssign):
                yield source, value
        if isinstance(place, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _of_parameter(source, place, node.id)
    yield from _imported(source, node.id)


def _same_place(target: ast.Tuple, value: ast.Tuple, name: str) -> ast.expr | None:
    for one, given in zip(target.elts, value.elts, strict=False):
        if isinstance(one, ast.Name) and one.id == name:
            return given
    return None


def _of_parameter(
    source: Source, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str
) -> Iterator[tuple[Source, ast.expr]]:
    """Yield the argument of the only call that passes a parameter, or its default if no call passes it."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if name not in names and name not in [one.arg for one in function.args.kwonlyargs]:
        return
    given = [value for call in _calls_of(source, function) if (value := _given(call, names, name))]
    if len(given) == 1:
        yield source, given[0]
    elif not given:
        default = _default(function, name)
        if default is not None:
            yield source, default


def _calls_of(source: Source, function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.Call]:
    owner = source.parents.get(function)
    if function.name == "__init__" and isinstance(owner, ast.ClassDef):
        return list(source.calls(owner.name))
    return list(source.calls(function.name))


def _given(call: ast.Call, names: list[str], name: str) -> ast.expr | None:
    value = keyword(call, name)
    if value is None and name in names:
        place = names.index(name) - (names[:1] == ["self"])
        value = call.args[place] if 0 <= place < len(call.args) else None
    return None if isinstance(value, ast.Starred) else value


def _default(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> ast.expr | None:
    positional = [*function.args.posonlyargs, *function.args.args]
    pairs = dict(
        zip(
            [one.arg for one in positional[len(positional) - len(function.args.defaults) :]],
            function.args.defaults,
            strict=True,
        )
    )
    keyword_only = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    pairs |= {one.arg: value for one, value in keyword_only if value is not None}
    return pairs.get(name)


def _of_setting(source: Source, name: str) -> Iterator[tuple[Source, ast.expr]]:
    """Yield the value of a setting: an attribute, a key, a field or a command-line option of this name."""
    kinds = (_given_to_a_class, _options, _keys, _own_attributes, _fields)
    for file in _files(source):
        for kind in kinds:
            found = list(kind(file, name))
            if len(found) == 1:
                yield file, found[0]
            elif found:
                return


def _given_to_a_class(source: Source, name: str) -> Iterator[ast.expr]:
    """Yield `0.1` from `Config(rate=0.1)`, for a class of this file or a namespace type."""
    classes = [node.name for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)]
    for call in source.calls(*classes, *SETTINGS):
        value = keyword(call, name)
        if value is not None:
            yield value


def _options(source: Source, name: str) -> Iterator[ast.expr]:
    """Yield the default of a command-line option, such as `--learning-rate`."""
    for call in source.calls("add_argument", "option", "Option"):
        default = keyword(call, "default")
        if name in option_names(call) and default is not None:
            yield default


def option_names(call: ast.Call) -> set[str]:
    """Return the names of a command-line option as attributes: `learning_rate` and `r` for `--learning-rate`, `-r`."""
    given = [*call.args, *(one for one in (keyword(call, "dest"),) if one is not None)]
    words = [one.value for one in given if isinstance(one, ast.Constant)]
    return {attribute_of(str(word)) for word in words}


def attribute_of(option: str) -> str:
    """Return the attribute for an option of the command line: `learning_rate` for `--learning-rate`."""
    return option.lstrip("-").replace("-", "_")


def _keys(source: Source, name: str) -> Iterator[ast.expr]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name:
                    yield value


def _own_attributes(source: Source, name: str) -> Iterator[ast.expr]:
    for node in ast.walk(source.tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(one, ast.Attribute) and one.attr == name for one in targets):
            assert isinstance(node, ast.Assign)
            yield node.value


def _fields(source: Source, name: str) -> Iterator[ast.expr]:
    """Yield the default of a class field: `rate: float = 0.1`."""
    for node in ast.walk(source.tree):
        for one in node.body if isinstance(node, ast.ClassDef) else ():
            targets = one.targets if isinstance(one, ast.Assign) else [getattr(one, "target", None)]
            target = targets[0]
            value = getattr(one, "value", None)
            if isinstance(target, ast.Name) and target.id == name and isinstance(value, ast.expr):
                yield keyword(value, "default") or value if isinstance(value, ast.Call) else value


def _imported(source: Source, name: str) -> Iterator[tuple[Source, ast.expr]]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    file = _file_of(source, node)
                    yield from _constant(file, alias.name) if file is not None else ()


def _of_module(source: Source, node: ast.Attribute) -> Iterator[tuple[Source, ast.expr]]:
    """Yield the value of `config.RATE`, if `config` is a file of the program."""
    if not isinstance(node.value, ast.Name):
        return
    for one in ast.walk(source.tree):
        if isinstance(one, ast.Import):
            for alias in one.names:
                if (alias.asname or alias.name) == node.value.id:
                    file = _open(source, alias.name)
                    yield from _constant(file, node.attr) if file is not None else ()
        elif isinstance(one, ast.ImportFrom):
            for alias in one.names:
                if (alias.asname or alias.name) == node.value.id:
                    inside = f"{one.module}.{alias.name}" if one.module else alias.name
                    file = _open(source, inside)
                    yield from _constant(file, node.attr) if file is not None else ()


def _constant(file: Source, name: str) -> Iterator[tuple[Source, ast.expr]]:
    found = [
        one.value
        for one in file.tree.body
        if isinstance(one, ast.Assign | ast.AnnAssign)
        and one.value is not None
        and name
        in [file.of(target) for target in getattr(one, "targets", [])]
        + [file.of(one.target) if isinstance(one, ast.AnnAssign) else ""]
    ]
    if len(found) == 1:
        yield file, found[0]


def _files(source: Source) -> Iterator[Source]:
    """Yield this file, then the program's files that it imports from."""
    yield source
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom):
            file = _file_of(source, node)
            if file is not None:
                yield file


def _file_of(source: Source, node: ast.ImportFrom) -> Source | None:
    return _open(source, node.module) if node.module else None


def _open(source: Source, module: str) -> Source | None:
    """Return a module of the program: in the folder of this file, or in one of its parent folders."""
    folders = source.file.split("/")[:-1]
    for depth in range(len(folders), -1, -1):
        file = source.others("/".join([*folders[:depth], *module.split(".")]) + ".py")
        if file is not None:
            return file
    return None
