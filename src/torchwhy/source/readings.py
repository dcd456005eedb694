"""How a program reads the result of a call: by the largest entry, by a threshold, by rounding."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.source.calls import called
from torchwhy.source.edits import Source

INDICES = 1  # of the pair that `max` and `topk` return
HALF = 0.5
REBUILDING = {
    "append",
    "insert",
    "extend",
    "add_module",
    "register_module",
    "register_forward_hook",
}  # methods after which a model may return something else
RESHAPES = {"squeeze", "flatten", "view", "reshape"}


@dataclass(frozen=True)
class Reading:
    """An expression that reads a result: `out.argmax(1)`, `out > 0.5`, `out.round()`."""

    how: str
    node: ast.expr


def readings_of(source: Source, place: SourceSpan) -> Iterator[Reading]:
    """Yield what a program does directly with the result of the call at a place, or with the only name for it."""
    call, parents = source.at(place), source.parents
    if not isinstance(call, ast.Call):
        return
    result = _reshaped(call, parents)
    for reading in _readings_of_result(source, result):
        # In another shape, the dimensions are others.
        is_of_shape = result is call or reading.how != "largest"
        if is_of_shape and not _may_be_skipped(source, call, reading.node):
            yield reading


def _may_be_skipped(source: Source, call: ast.Call, reading: ast.expr) -> bool:
    """Tell whether a condition after the call decides if the result is read this way: other outputs, other readings."""
    before = {id(one) for one in source.around(call)}
    around = [one for one in source.around(reading) if id(one) not in before]
    if any(isinstance(one, ast.If | ast.IfExp | ast.Match) for one in around):
        return True
    return any(
        isinstance(node, ast.If)
        and call.lineno < node.lineno < reading.lineno
        and any(isinstance(part, ast.Return | ast.Continue) for part in ast.walk(node))
        for node in ast.walk(source.scope_of(call))
    )


def is_unread(source: Source, place: SourceSpan) -> bool:
    """Tell whether the result of a call gets a name that nothing reads: `_ = model(x)`."""
    assigned = source.parents.get(source.at(place) or source.tree)
    if not isinstance(assigned, ast.Assign):
        return False
    names = {target.id for target in assigned.targets if isinstance(target, ast.Name)}
    return len(names) == len(assigned.targets) and not any(
        isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load)
        for node in ast.walk(source.scope_of(assigned))
    )


def is_carried(source: Source, place: SourceSpan) -> bool:
    """Tell whether a call gets, beside its input, a part of its own last result: `out, state = model(x, state)`.

    It is called in a loop, or the part is kept: `out, self.state = self.rnn(x, self.state)`. The part may pass through
    another name: `out, new = model(x, state)`, then `state = new.detach()`.
    """
    call = source.at(place)
    assigned = source.parents.get(call) if call is not None else None
    if not isinstance(call, ast.Call) or not isinstance(assigned, ast.Assign):
        return False
    values = (*call.args[1:], *(keyword.value for keyword in call.keywords))
    given = {name for value in values for name in _names_in(value, ast.Load)}
    results = _stored_by(assigned) if isinstance(assigned.targets[0], ast.Tuple) else set()
    passed_on = {
        name
        for node in ast.walk(source.scope_of(call))
        if isinstance(node, ast.Assign) and results & _names_in(node.value, ast.Load)
        for name in _stored_by(node)
    }
    kept = given & (results | passed_on)
    return any("." in name for name in kept) or (bool(kept) and bool(source.loops_of(call)))


def _stored_by(assigned: ast.Assign) -> set[str]:
    return {name for target in assigned.targets for name in _names_in(target, ast.Store)}


def _names_in(value: ast.expr, context: type[ast.Load | ast.Store]) -> set[str]:
    """Return the variables and attributes that an expression reads, or those that it sets."""
    return {
        ast.unparse(node)
        for node in ast.walk(value)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, context)
    }


def is_called_alike(source: Source, places: list[SourceSpan]) -> bool:
    """Tell whether calls at several places of a file pass as many arguments, with the same keywords."""
    calls = [call for place in places if isinstance(call := source.at(place), ast.Call)]
    return (
        len({(len(one.args), *sorted(key.arg or "**" for key in one.keywords)) for one in calls})
        < 2
    )


def is_rebuilt(source: Source, name: str) -> bool:
    """Tell whether a name is given a second model, or the model other parts: `model = Sequential(model, Sigmoid())`."""
    made = 0
    for node in ast.walk(source.tree):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(target, ast.Name) and target.id == name:
            made += not _is_own_method(node.value, name)
        elif isinstance(target, ast.Attribute | ast.Subscript):
            if isinstance(target.value, ast.Name) and target.value.id == name:
                return True
        elif isinstance(node, ast.Call) and _is_own_method(node, name):
            made += 2 * (called(node) in REBUILDING)
    return made > 1


def _is_own_method(node: ast.expr, name: str) -> bool:
    """Tell whether an expression is a call of a method of a name: `model.to(device)`."""
    function = node.func if isinstance(node, ast.Call) else None
    owner = function.value if isinstance(function, ast.Attribute) else None
    return isinstance(owner, ast.Name) and owner.id == name


def _reshaped(result: ast.expr, parents: dict[ast.AST, ast.AST]) -> ast.expr:
    """Return the calls around a result that only change its shape: `model(x).squeeze(1)`."""
    around = parents.get(result)
    outer = parents.get(around) if isinstance(around, ast.Attribute) else None
    is_reshape = isinstance(around, ast.Attribute) and around.attr in RESHAPES
    if is_reshape and isinstance(outer, ast.Call) and outer.func is around:
        return _reshaped(outer, parents)
    return result


def _readings_of_result(source: Source, call: ast.expr) -> Iterator[Reading]:
    """Yield how an expression is read where it stands, or by the only name that it gets."""
    parents = source.parents
    parent = parents.get(call)
    if not isinstance(parent, ast.Assign):
        yield from _reading(call, parents)
        return
    scope = source.scope_of(parent)
    name = parent.targets[0]
    if len(parent.targets) != 1 or not isinstance(name, ast.Name):
        return
    uses = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Name) and node.id == name.id and source.scope_of(node) is scope
    ]
    if sum(isinstance(one.ctx, ast.Store) for one in uses) == 1:
        for use in uses:
            yield from _reading(use, parents)


def _reading(result: ast.expr, parents: dict[ast.AST, ast.AST]) -> Iterator[Reading]:
    """Yield how an expression is read by the operation directly around it."""
    around = parents.get(result)
    if isinstance(around, ast.Attribute) and around.attr in ("data", "detach"):
        above = parents.get(around)
        if around.attr == "data":
            yield from _reading(around, parents)
        elif isinstance(above, ast.Call) and above.func is around:
            yield from _reading(above, parents)
        return
    if isinstance(around, ast.Compare) and around.left is result and len(around.ops) == 1:
        bound = around.comparators[0]
        is_half = isinstance(bound, ast.Constant) and bound.value == HALF
        if is_half and isinstance(around.ops[0], ast.Gt | ast.GtE):
            yield Reading("threshold", around)
        return
    call = parents.get(around) if isinstance(around, ast.Attribute) else around
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    is_method = call.func is around
    if not is_method and (
        not call.args or call.args[0] is not result or not _is_of_torch(call.func)
    ):
        return
    name = call.func.attr
    rest = call.args if is_method else call.args[1:]
    if name == "round" and not rest:
        yield Reading("threshold", call)
    takes_index = name == "argmax" or (name == "max" and _takes_indices(call, parents))
    if takes_index and _dimension(call, rest) in (1, -1):
        yield Reading("largest", call)


def _is_of_torch(function: ast.Attribute) -> bool:
    return isinstance(function.value, ast.Name) and function.value.id == "torch"


def _dimension(call: ast.Call, rest: list[ast.expr]) -> object:
    """Return the dimension that a call is given; None if it is none or no number."""
    given = [key.value for key in call.keywords if key.arg in ("dim", "axis")] or rest
    try:
        return ast.literal_eval(given[0]) if given else None
    except (ValueError, TypeError):
        return None


def _takes_indices(call: ast.Call, parents: dict[ast.AST, ast.AST]) -> bool:
    """Tell whether the indices of a pair (values, indices) are used: `_, i = x.max(1)`, `x.max(1)[1]`."""
    around = parents.get(call)
    if isinstance(around, ast.Assign):
        return isinstance(around.targets[0], ast.Tuple)
    if isinstance(around, ast.Subscript):
        return isinstance(around.slice, ast.Constant) and around.slice.value == INDICES
    return isinstance(around, ast.Attribute) and around.attr == "indices"
