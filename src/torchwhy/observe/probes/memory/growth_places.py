"""From the statements about a variable to the one that is to blame, and whether another one bounds it."""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass, replace

from torchwhy.finding import SourceSpan
from torchwhy.observe.probes.memory.flows import FUNCTIONS
from torchwhy.observe.probes.memory.variable_uses import (
    Source,
    Uses,
    Variable,
    parsed,
    span_at,
    uses_of,
)

Place = tuple[str, ast.AST]
NUMBERS = {"item", "tolist", "float", "int", "len", "round"}  # calls whose result is no tensor


@dataclass(frozen=True)
class Places:
    """Where a variable is grown, emptied time and again, and read; None where the source shows no such place."""

    grown_at: SourceSpan | None = None
    grown_line: str | None = None
    emptied_at: SourceSpan | None = None
    read_at: SourceSpan | None = None
    read_later: bool = False
    feeds_backward: bool = False


def places_of(variable: Variable, *, call: tuple[str, int] | None = None) -> Places:
    """Return the places of one variable; `call` is where the program just tried to free memory."""
    uses = uses_of(variable)
    grown = _most_likely(uses.grown or uses.bound, variable)
    if grown is None:
        return Places()
    emptied = _emptied_again(uses, grown, variable) or _owner_renewed(variable)
    file, node = grown
    return Places(
        grown_at=_span(grown),
        grown_line=linecache.getline(file, node.lineno).rstrip("\n"),  # type: ignore[attr-defined]
        emptied_at=_span(emptied),
        read_at=_span(uses.read[0]) if uses.read else None,
        read_later=any(_may_follow(read, call) for read in uses.read) if call else bool(uses.read),
        feeds_backward=uses.feeds_backward,
    )


def _span(place: Place | None) -> SourceSpan | None:
    if place is None:
        return None
    source = parsed(place[0])
    return None if source is None else span_at(place[0], place[1], source)


def _most_likely(statements: list[Place], variable: Variable) -> Place | None:
    """Return the statement in the loop that runs now that keeps a tensor, in the innermost loop, the first one."""

    def rank(place: Place) -> tuple[bool, bool, int, int]:
        source = _source(place)
        loops = source.loops_of(place[1])
        line = int(getattr(place[1], "lineno", 0))
        return _runs_now(place, variable), not _puts_in_a_number(place[1]), len(loops), -line

    return max(statements, key=rank, default=None)


def _puts_in_a_number(node: ast.AST) -> bool:
    """Tell whether a statement keeps what is surely no tensor: `losses.append(loss.item())`."""
    value = node.args[-1] if isinstance(node, ast.Call) and node.args else None
    value = value or getattr(node, "value", None)
    if isinstance(value, ast.Call):
        function = value.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return name in NUMBERS
    return isinstance(value, ast.Constant)


def _source(place: Place) -> Source:
    source = parsed(place[0])
    assert source is not None, "a place comes from a source that was read"
    return source


def _runs_now(place: Place, variable: Variable) -> bool:
    """Tell whether a loop around the statement is being run through."""
    return any(
        file == place[0] and _encloses(loop, line)
        for loop in _source(place).loops_of(place[1])
        for file, line in variable.running
    )


def _encloses(node: ast.AST, line: int) -> bool:
    return bool(node.lineno <= line <= (node.end_lineno or node.lineno))  # type: ignore[attr-defined]


def _emptied_again(uses: Uses, grown: Place, variable: Variable) -> Place | None:
    """Return the statement that empties or renews the variable while the growing goes on."""
    for place in uses.emptied:
        if _shares_loop(place, grown) or _runs_now(place, variable) or _is_elsewhere(place, grown):
            return place
    for place in uses.bound:
        if place[1] is grown[1]:
            continue
        if _runs_now(place, variable) or _shares_loop(place, grown):
            return place
        if _is_elsewhere(place, grown) and _is_called_again(place):
            return place
        is_local = variable.line is not None and not variable.is_attribute
        if is_local and variable.called_in_loop and not _is_elsewhere(place, grown):
            return place
    return None


def _shares_loop(one: Place, other: Place) -> bool:
    if one[0] != other[0]:
        return False
    loops = _source(one).loops_of(one[1])
    return any(loop in loops for loop in _source(other).loops_of(other[1]))


def _is_elsewhere(one: Place, other: Place) -> bool:
    """Tell whether a statement stands in another function than the growing one, and in a function at all."""
    function = _source(one).function_of(one[1])
    if not isinstance(function, FUNCTIONS) or getattr(function, "name", "") == "__init__":
        return False
    return one[0] != other[0] or function is not _source(other).function_of(other[1])


def _is_called_again(place: Place) -> bool:
    """Tell whether the function a statement stands in is called from anywhere but a constructor."""
    source = _source(place)
    name = getattr(source.function_of(place[1]), "name", None)
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        text = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)
        if text == name and getattr(source.function_of(node), "name", "") != "__init__":
            return True
    return False


def _owner_renewed(variable: Variable) -> Place | None:
    """Return where the object that has the attribute is made anew in a loop that is being run through."""
    owner = variable.name.split(".", 1)[0]
    if not variable.is_attribute or owner in ("self", "cls"):
        return None
    files = tuple(dict.fromkeys(file for file, _ in variable.running))
    uses = uses_of(replace(variable, name=owner, files=files))
    for place in uses.bound:
        in_function = isinstance(_source(place).function_of(place[1]), FUNCTIONS)
        if _runs_now(place, variable) or (in_function and variable.called_in_loop):
            return place
    return None


def _may_follow(read: Place, call: tuple[str, int]) -> bool:
    """Tell whether what is read there may be read after the call: further down, in one loop, or who knows when."""
    file, line = call
    if read[0] != file or int(getattr(read[1], "lineno", 0)) > line:
        return True
    source = _source(read)
    if any(_encloses(loop, line) for loop in source.loops_of(read[1])):
        return True
    function = source.function_of(read[1])
    return isinstance(function, FUNCTIONS) and not _encloses(function, line)
