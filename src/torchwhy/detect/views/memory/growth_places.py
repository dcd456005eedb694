"""The statement that grows a variable, chosen from all statements about it, and the one that bounds it."""

from __future__ import annotations

from dataclasses import replace

from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.source.analyses.variable_uses import Place, Uses, Variable, puts_in_a_number, uses_of
from torchwhy.source.edits import Source
from torchwhy.source.scopes import covers


@dataclass(frozen=True)
class Places:
    """Where a variable is grown, regularly emptied, and read; None if the source has no such place."""

    grown_at: SourceSpan | None = None
    grown_line: str | None = None
    emptied_at: SourceSpan | None = None
    read_at: SourceSpan | None = None
    read_later: bool = False
    feeds_backward: bool = False


def places_of(variable: Variable, *, call: tuple[Source, int] | None = None) -> Places:
    """Return the places of one variable; `call` is where the program tries to free memory."""
    uses = uses_of(variable)
    grown = _most_likely(uses.grown or uses.bound, variable)
    if grown is None:
        return Places()
    emptied = _emptied_again(uses, grown, variable) or _owner_renewed(variable)
    return Places(
        grown_at=grown.span,
        grown_line=grown.source.lines[grown.line - 1],
        emptied_at=emptied.span if emptied is not None else None,
        read_at=uses.read[0].span if uses.read else None,
        read_later=any(_may_follow(read, call) for read in uses.read) if call else bool(uses.read),
        feeds_backward=uses.feeds_backward,
    )


def _most_likely(statements: list[Place], variable: Variable) -> Place | None:
    """Return the first statement in the innermost running loop, preferably one that keeps a tensor."""

    def rank(place: Place) -> tuple[bool, bool, int, int]:
        keeps_tensor = not puts_in_a_number(place.node)
        return _runs_now(place, variable), keeps_tensor, len(place.loops), -place.line

    return max(statements, key=rank, default=None)


def _runs_now(place: Place, variable: Variable) -> bool:
    """Tell whether a loop around the statement is running."""
    return any(
        source is place.source and covers(loop, line)
        for loop in place.loops
        for source, line in variable.running
    )


def _emptied_again(uses: Uses, grown: Place, variable: Variable) -> Place | None:
    """Return the statement that empties or rebinds the variable while it grows."""
    for place in uses.emptied:
        if _shares_loop(place, grown) or _runs_now(place, variable) or _is_elsewhere(place, grown):
            return place
    for place in uses.bound:
        if place.node is grown.node:
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
    return any(loop in one.loops for loop in other.loops)


def _is_elsewhere(one: Place, other: Place) -> bool:
    """Tell whether a statement is in another function than the growing one, constructors excluded."""
    return (
        one.is_in_function
        and one.function_name != "__init__"
        and one.function is not other.function
    )


def _is_called_again(place: Place) -> bool:
    """Tell whether the function of a statement is called from anywhere but a constructor."""
    source = place.source
    calls = source.calls(place.function_name)
    return any(source.function_name(call) != "__init__" for call in calls)


def _owner_renewed(variable: Variable) -> Place | None:
    """Return where a running loop creates the object that owns the attribute again."""
    owner = variable.name.split(".", 1)[0]
    if not variable.is_attribute or owner in ("self", "cls"):
        return None
    files = tuple({id(source): source for source, _ in variable.running}.values())
    uses = uses_of(replace(variable, name=owner, files=files))
    for place in uses.bound:
        if _runs_now(place, variable) or (place.is_in_function and variable.called_in_loop):
            return place
    return None


def _may_follow(read: Place, call: tuple[Source, int]) -> bool:
    """Tell whether a read may happen after the call: further down, in the same loop, or in another function."""
    source, line = call
    if read.source is not source or read.line > line:
        return True
    if any(covers(loop, line) for loop in read.loops):
        return True
    return read.is_in_function and not covers(read.function, line)
