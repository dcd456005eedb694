"""Which statements of the source grow a variable, which empty it, which use what it holds. Reads, never runs.

A variable is a plain name in one function or module (`losses`), or an attribute wherever it occurs (`self.history`).
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from torchwhy.finding import SourceSpan
from torchwhy.observe.probes.memory.flows import CUTTING, FUNCTIONS, reaches_backward
from torchwhy.observe.program.frames import text_at
from torchwhy.source.files import shown_path

GROWING = {"append", "appendleft", "extend", "extendleft", "insert", "add", "update", "setdefault"}
SHRINKING = {"pop", "popleft", "popitem", "clear", "remove", "discard"}
# What asks only how large a thing is uses nothing of its content.
SIZES = {"len", "getsizeof", "id", "type"}
LOOPS = (ast.For, ast.AsyncFor, ast.While)
KEYS = re.compile(r"\[[^\]]*\]")  # of an item on the way: `meters['loss'].total`
LONGEST_FILE = 20_000  # lines; reading a longer one would take longer than a look may


@dataclass(frozen=True)
class Variable:
    """A variable and where to look for it: `line` is the first of its function, None for a module's own variable.

    `running` are the lines at which the program's frames are now, by file: they tell which loop is meant.
    """

    name: str
    files: tuple[str, ...]
    line: int | None = None
    called_in_loop: bool = False
    running: tuple[tuple[str, int], ...] = ()

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
    """The statements about one variable, each with its file."""

    grown: list[tuple[str, ast.AST]] = field(default_factory=list)
    emptied: list[tuple[str, ast.AST]] = field(default_factory=list)
    read: list[tuple[str, ast.AST]] = field(default_factory=list)
    bound: list[tuple[str, ast.AST]] = field(default_factory=list)
    feeds_backward: bool = False


@dataclass(frozen=True)
class Source:
    """One parsed file; `parents` leads from every node to the one around it."""

    file: str
    tree: ast.Module
    parents: dict[ast.AST, ast.AST]

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what encloses a node, the nearest first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def function_of(self, node: ast.AST) -> ast.AST:
        """Return the function a node stands in, or the whole module."""
        return next((n for n in self.around(node) if isinstance(n, FUNCTIONS)), self.tree)

    def function_name(self, node: ast.AST) -> str:
        """Return the name of the function a node stands in, as its code object has it."""
        function = self.function_of(node)
        return str(getattr(function, "name", "<module>" if function is self.tree else "<lambda>"))

    def loops(self) -> Iterator[ast.For | ast.AsyncFor | ast.While]:
        """Yield all loops of the file."""
        yield from (node for node in ast.walk(self.tree) if isinstance(node, LOOPS))

    def loops_of(self, node: ast.AST) -> list[ast.AST]:
        """Return the loops around a node inside its own function, the nearest first."""
        found: list[ast.AST] = []
        for outer in self.around(node):
            if isinstance(outer, FUNCTIONS):
                break
            if isinstance(outer, LOOPS):
                found.append(outer)
        return found


@lru_cache(maxsize=256)
def parsed(file: str) -> Source | None:
    """Return a file's syntax, None where it cannot be read."""
    lines = linecache.getlines(file)
    if not lines or len(lines) > LONGEST_FILE:
        return None
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None
    return Source(
        file, tree, {c: node for node in ast.walk(tree) for c in ast.iter_child_nodes(node)}
    )


def uses_of(variable: Variable) -> Uses:
    """Return every statement about a variable."""
    uses = Uses()
    for file in variable.files:
        # Most files of a large program do not even mention it; to parse one takes a thousand times as long.
        is_mentioned = any(variable.leaf in line for line in linecache.getlines(file))
        source = parsed(file) if is_mentioned else None
        if source is None:
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
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == variable.line:
                return node
    return source.tree


def _is_another(name: ast.Name, source: Source, variable: Variable) -> bool:
    """Tell whether a name inside a function is that function's own, and not the module's."""
    if variable.line is not None:
        return False
    function = source.function_of(name)
    return function is not source.tree and _binds(function, name.id)


def _binds(function: ast.AST, name: str) -> bool:
    arguments = getattr(function, "args", None)
    if isinstance(arguments, ast.arguments):
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        if any(argument.arg == name for argument in given):
            return True
    stored = False
    for node in ast.walk(function):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
            return False
        stored |= isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    return stored


def _sort(node: ast.expr, source: Source, *, variable: Variable, uses: Uses) -> None:
    """Put one mention of the variable where it belongs: it grows, empties, binds or reads it."""
    file = source.file
    outer = _whole_target(node, source)
    parent = source.parents.get(outer)
    if isinstance(parent, ast.Attribute) and isinstance(source.parents.get(parent), ast.Call):
        call = source.parents[parent]
        if parent.attr in GROWING and _is_statement(call, source):
            uses.grown.append((file, call))
            return
        if parent.attr in SHRINKING:
            uses.emptied.append((file, call))
            return
    if isinstance(parent, ast.AugAssign) and parent.target is outer:
        uses.grown.append((file, parent))
        return
    if isinstance(getattr(outer, "ctx", None), ast.Del):
        uses.emptied.append((file, outer))
        return
    assignment = _assignment_to(outer, source)
    if assignment is not None:
        _sort_assignment(assignment, outer, variable=variable, uses=uses, file=file)
    elif not (
        _asks_size(outer, parent)
        or _asks_newest(outer)
        or _belongs_to_growth(node, source, variable)
    ):
        uses.read.append((file, outer))


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
    file: str,
) -> None:
    value = statement.value
    from_itself = value is not None and _mentions_leaf(value, variable)
    if from_itself and value is not None and _cuts(value, variable):
        uses.emptied.append((file, statement))
    elif from_itself:
        uses.grown.append((file, statement))
    elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
        uses.emptied.append((file, statement))
    elif isinstance(target, ast.Subscript):
        uses.grown.append((file, statement))
    else:
        uses.bound.append((file, statement))


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
    if not isinstance(parent, ast.Call) or outer not in parent.args:
        return False
    name = parent.func
    text = (
        name.attr
        if isinstance(name, ast.Attribute)
        else name.id
        if isinstance(name, ast.Name)
        else ""
    )
    return text in SIZES


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


def span_at(file: str, node: ast.AST, source: Source) -> SourceSpan:
    """Return the place of a node the way findings show it."""
    line, end_line = node.lineno, node.end_lineno or node.lineno  # type: ignore[attr-defined]
    column = _characters(file, line, node.col_offset)  # type: ignore[attr-defined]
    end_column = _characters(file, end_line, node.end_col_offset or 0)  # type: ignore[attr-defined]
    return SourceSpan(
        file=shown_path(file),
        line=line,
        end_line=end_line,
        column=column,
        end_column=end_column,
        function=source.function_name(node),
        expression=text_at(file, (line, end_line, column, end_column)),
    )


def _characters(file: str, line: int, column: int) -> int:
    return len(linecache.getline(file, line).encode()[:column].decode(errors="ignore"))
