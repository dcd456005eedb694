"""Which statements of the source grow a variable, which empty it, which use what it holds. Reads, never runs.

A variable is a plain name in one function or module (`losses`), or an attribute wherever it occurs (`self.history`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import field

from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.source.analyses.flows import CUTTING, reaches_backward
from torchwhy.source.bindings import binds
from torchwhy.source.calls import called
from torchwhy.source.edits import Source
from torchwhy.source.scopes import Loop, function_from

GROWING = {"append", "appendleft", "extend", "extendleft", "insert", "add", "update", "setdefault"}
SHRINKING = {"pop", "popleft", "popitem", "clear", "remove", "discard"}
# What asks only how large a thing is uses nothing of its content.
SIZES = {"len", "getsizeof", "id", "type"}
NUMBERS = {"item", "tolist", "float", "int", "len", "round"}  # calls whose result is no tensor
KEYS = re.compile(r"\[[^\]]*\]")  # of an item on the way: `meters['loss'].total`


@dataclass(frozen=True, eq=False)
class Place:
    """A statement or expression in a file."""

    source: Source
    node: ast.expr | ast.stmt

    @property
    def line(self) -> int:
        """Return the line it begins on."""
        return self.node.lineno

    @property
    def span(self) -> SourceSpan:
        """Return where it is, as findings have it."""
        return self.source.span(self.node)

    @property
    def loops(self) -> list[Loop]:
        """Return the loops around it inside its own function, the nearest first."""
        return self.source.loops_of(self.node)

    @property
    def function(self) -> ast.AST:
        """Return the function it stands in, or the whole file."""
        return self.source.function_of(self.node)

    @property
    def function_name(self) -> str:
        """Return the name of that function."""
        return self.source.function_name(self.node)

    @property
    def is_in_function(self) -> bool:
        """Tell whether it stands in a function at all."""
        return self.function is not self.source.tree


@dataclass(frozen=True)
class Variable:
    """A variable and where to look for it: `line` is the first of its function, None for a module's own variable.

    `running` are the lines at which the program's frames are now, by file: they tell which loop is meant.
    """

    name: str
    files: tuple[Source, ...]
    line: int | None = None
    called_in_loop: bool = False
    running: tuple[tuple[Source, int], ...] = ()

    @property
    def leaf(self) -> str:
        """Return the last part of the name: what stands in the statement, whatever holds it there."""
        return KEYS.sub("", self.name).rsplit(".", 1)[-1]

    @property
    def is_attribute(self) -> bool:
        """Tell whether it is an attribute of something."""
        return "." in KEYS.sub("", self.name)


@dataclass
class Uses:
    """The statements about one variable, each with the file it stands in."""

    grown: list[Place] = field(default_factory=list)
    emptied: list[Place] = field(default_factory=list)
    read: list[Place] = field(default_factory=list)
    bound: list[Place] = field(default_factory=list)
    feeds_backward: bool = False


def uses_of(variable: Variable) -> Uses:
    """Return every statement about a variable."""
    uses = Uses()
    for source in variable.files:
        # Most files of a large program do not even mention it; to parse one takes a thousand times as long.
        if variable.leaf not in source.text:
            continue
        functions = set()
        for node in _mentions(source, variable):
            _sort(node, source, variable=variable, uses=uses)
            functions.add(source.function_of(node))
        uses.feeds_backward |= any(
            reaches_backward(source.tree, function, variable.leaf) for function in functions
        )
    return uses


def _mentions(source: Source, variable: Variable) -> Iterator[ast.expr]:
    """Yield the places where the variable stands in the text, in the order of the text."""
    for node in ast.walk(_region(source, variable)):
        if isinstance(node, ast.Attribute) and node.attr == variable.leaf:
            # `losses.append` of a module's own variable may be written `state.losses.append` in another file.
            if variable.is_attribute or (variable.line is None and not _is_self(node.value)):
                yield node
        elif (
            isinstance(node, ast.Name)
            and _is_leaf(node, variable)
            and not _is_another(node, source, variable)
        ):
            yield node


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _region(source: Source, variable: Variable) -> ast.AST:
    """Return the function that a local variable lives in, or the whole file."""
    if variable.line is None or variable.is_attribute:
        return source.tree
    return function_from(source.tree, variable.line) or source.tree


def _is_another(name: ast.Name, source: Source, variable: Variable) -> bool:
    """Tell whether a name inside a function is that function's own, and not the module's."""
    if variable.line is not None:
        return False
    function = source.function_of(name)
    return function is not source.tree and binds(function, name.id)


def _sort(node: ast.expr, source: Source, *, variable: Variable, uses: Uses) -> None:
    """Put one mention of the variable where it belongs: it grows, empties, binds or reads it."""
    outer = _whole_target(node, source)
    parent = source.parents.get(outer)
    call = source.parents.get(parent) if isinstance(parent, ast.Attribute) else None
    if isinstance(parent, ast.Attribute) and isinstance(call, ast.Call):
        if parent.attr in GROWING and _is_statement(call, source):
            uses.grown.append(Place(source, call))
            return
        if parent.attr in SHRINKING:
            uses.emptied.append(Place(source, call))
            return
    if isinstance(parent, ast.AugAssign) and parent.target is outer:
        uses.grown.append(Place(source, parent))
        return
    if isinstance(getattr(outer, "ctx", None), ast.Del):
        uses.emptied.append(Place(source, outer))
        return
    assignment = _assignment_to(outer, source)
    if assignment is not None:
        _sort_assignment(assignment, outer, variable=variable, uses=uses, source=source)
    elif not (
        _asks_size(outer, parent)
        or _asks_newest(outer)
        or _belongs_to_growth(node, source, variable)
    ):
        uses.read.append(Place(source, outer))


def _is_statement(call: ast.AST, source: Source) -> bool:
    """Tell whether a call is there for its effect: a statement, or all that a lambda does."""
    return isinstance(source.parents.get(call), (ast.Expr, ast.Lambda))


def _whole_target(node: ast.expr, source: Source) -> ast.expr:
    """Return `history['loss']` for `history`, and `d.setdefault(k, [])` for `d`: what the statement works on."""
    while True:
        parent = source.parents.get(node)
        if isinstance(parent, ast.Subscript) and parent.value is node:
            node = parent
        elif isinstance(parent, ast.Attribute) and parent.attr in ("setdefault", "get"):
            call = source.parents.get(parent)
            if not isinstance(call, ast.Call) or _is_statement(call, source):
                return node
            node = call
        else:
            return node


def _assignment_to(target: ast.expr, source: Source) -> ast.Assign | ast.AnnAssign | None:
    node: ast.AST = target
    while isinstance(source.parents.get(node), (ast.Tuple, ast.List, ast.Starred)):
        node = source.parents[node]
    parent = source.parents.get(node)
    if isinstance(parent, ast.Assign) and node in parent.targets:
        return parent
    return parent if isinstance(parent, ast.AnnAssign) and parent.target is node else None


def _sort_assignment(
    statement: ast.Assign | ast.AnnAssign,
    target: ast.expr,
    *,
    variable: Variable,
    uses: Uses,
    source: Source,
) -> None:
    value = statement.value
    from_itself = value is not None and _mentions_leaf(value, variable)
    if from_itself and value is not None and _cuts(value, variable):
        uses.emptied.append(Place(source, statement))
    elif from_itself:
        uses.grown.append(Place(source, statement))
    elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
        uses.emptied.append(Place(source, statement))
    elif isinstance(target, ast.Subscript):
        uses.grown.append(Place(source, statement))
    else:
        uses.bound.append(Place(source, statement))


def _mentions_leaf(value: ast.AST, variable: Variable) -> bool:
    return any(_is_leaf(node, variable) for node in ast.walk(value))


def _is_leaf(node: ast.AST, variable: Variable) -> bool:
    if variable.is_attribute:
        return isinstance(node, ast.Attribute) and node.attr == variable.leaf
    return isinstance(node, ast.Name) and node.id == variable.leaf


def _cuts(value: ast.expr, variable: Variable) -> bool:
    """Tell whether `h = h.detach()` or `losses = losses[-100:]`: the new value leaves the old behind."""
    if isinstance(value, ast.Subscript):
        return _is_leaf(value.value, variable) and isinstance(value.slice, ast.Slice)
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in CUTTING
        and _mentions_leaf(node.value, variable)
        for node in ast.walk(value)
    )


def _asks_size(outer: ast.expr, parent: ast.AST | None) -> bool:
    return isinstance(parent, ast.Call) and outer in parent.args and called(parent) in SIZES


def _asks_newest(outer: ast.expr) -> bool:
    """Tell whether only the end is read, `features[-1]` or `features[-20:]`: what came before is kept for nothing."""
    if not isinstance(outer, ast.Subscript):
        return False
    first = outer.slice
    if isinstance(first, ast.Slice):
        first = first.lower if first.upper is None and first.lower is not None else outer
    return (
        isinstance(first, ast.UnaryOp)
        and isinstance(first.op, ast.USub)
        and isinstance(first.operand, ast.Constant)
    )


def _belongs_to_growth(node: ast.expr, source: Source, variable: Variable) -> bool:
    """Tell whether a mention is the right side of `total = total + loss`, or declares `global total`."""
    for outer in source.around(node):
        if isinstance(outer, (ast.Assign, ast.AnnAssign)):
            targets = outer.targets if isinstance(outer, ast.Assign) else [outer.target]
            return any(_mentions_leaf(target, variable) for target in targets)
        if isinstance(outer, ast.stmt):
            return False
    return False


def puts_in_a_number(node: ast.AST) -> bool:
    """Tell whether a statement keeps what is surely no tensor: `losses.append(loss.item())`."""
    value = node.args[-1] if isinstance(node, ast.Call) and node.args else None
    value = value or getattr(node, "value", None)
    return (
        called(value) in NUMBERS if isinstance(value, ast.Call) else isinstance(value, ast.Constant)
    )
