"""A graph was used a second time: which variable brought it along, and from where?

Three ways lead there: a value that one turn of a loop leaves for the next, a value that was made once before
the loop, and two backward passes in one turn.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from torchwhy.replay.autopsy.lookup import Lookup, Unknown
from torchwhy.replay.autopsy.spots import Spot
from torchwhy.replay.inquest import source
from torchwhy.replay.inquest.clues import Clues, line_of, user_spots

MOST_NODES = 50_000  # of a graph that is walked to see what two losses share
MOST_DEEP = 3  # lists in dicts in tuples: deeper state is not looked through


def look(spots: list[Spot]) -> Clues:
    """Return who carried the graph: facts `carried`, `way` (loop, before-loop, module, twice) and the places."""
    clues = Clues()
    users = user_spots(spots)
    if not users:
        return clues
    for spot in users:
        if _in_one_frame(spot, clues):
            return clues
    if _in_modules(users, clues):
        return clues
    _twice(users[0], clues)
    return clues


def _in_one_frame(spot: Spot, clues: Clues) -> bool:
    """Look for a carrier among the variables of a frame that runs a loop."""
    code = spot.frame.f_code
    scope = source.scope_of(code)
    loops = source.loops_around(scope, line_of(spot)) if scope is not None else []
    for loop in loops:
        candidates = list(_carried(loop, spot))
        if not candidates:
            continue
        name, place, way = candidates[0]
        clues.facts.update(carried=name, way=way)
        clues.places["carried"] = source.span(place, code.co_filename, code.co_name)
        made = source.last_assignment(scope, name, place.lineno) if scope is not None else None
        if made is not None:
            clues.places["made"] = source.span(made[0], code.co_filename, code.co_name)
        return True
    return False


def _carried(loop: source.Loop, spot: Spot) -> Iterator[tuple[str, ast.expr, str]]:
    """Yield variables with a graph that are read in a loop's body before they are given a value there."""
    lookup = Lookup(spot.frame)
    seen: set[str] = set()
    for node, name, is_read in _in_running_order(loop.body):
        if name in seen:
            continue
        seen.add(name)
        if not is_read or not has_graph(_value(lookup, name)):
            continue
        stored = any(
            reference == name for _, reference, read in _in_running_order(loop.body) if not read
        )
        kept = isinstance(_value(lookup, name), (list, tuple, dict))
        yield name, node, "loop" if stored or kept else "before-loop"


def _in_running_order(body: list[ast.stmt]) -> Iterator[tuple[ast.expr, str, bool]]:
    """Yield (node, name, is read) in the order of running: of an assignment the right side comes first."""
    for statement in body:
        yield from _of_node(statement)


def _of_node(node: ast.AST) -> Iterator[tuple[ast.expr, str, bool]]:
    if isinstance(node, source.NEW_SCOPES):
        return
    if isinstance(node, (ast.Name, ast.Attribute)):
        name = source.reference(node)
        if name is not None:
            yield node, name, isinstance(node.ctx, ast.Load)
            return
    if isinstance(node, ast.AugAssign):
        name = source.reference(node.target)
        if name is not None:
            yield node.target, name, True
        yield from _of_node(node.value)
        yield from _of_node(node.target)
        return
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        yield from _of_node(node.value)
        for child in ast.iter_child_nodes(node):
            if child is not node.value:
                yield from _of_node(child)
        return
    for child in ast.iter_child_nodes(node):
        yield from _of_node(child)


def _value(lookup: Lookup, name: str) -> Any:
    try:
        return lookup.value(ast.parse(name, mode="eval").body)
    except (Unknown, AttributeError, KeyError, IndexError, TypeError):
        return None


def has_graph(value: Any, depth: int = 0) -> bool:
    """Tell whether a value is a tensor with a graph behind it, or a collection that holds one."""
    if isinstance(value, torch.Tensor):
        return value.grad_fn is not None
    if depth < MOST_DEEP and type(value) in (list, tuple):
        return any(has_graph(item, depth + 1) for item in value[-64:])
    if depth < MOST_DEEP and type(value) is dict:
        return any(has_graph(item, depth + 1) for item in list(value.values())[-64:])
    return False


def _in_modules(users: list[Spot], clues: Clues) -> bool:
    """Look for a tensor with a graph that a module of the program keeps as an attribute, and where it reads it."""
    for spot in users:
        for variable, module in list(spot.variables.items()) + list(spot.frame.f_globals.items()):
            if isinstance(module, nn.Module) and _in_module(variable, module, clues):
                return True
    return False


def _in_module(variable: str, root: nn.Module, clues: Clues) -> bool:
    for path, module in root.named_modules():
        for name, value in [*vars(module).items(), *module._buffers.items()]:
            if name.startswith("_") or not has_graph(value):
                continue
            place = _first_read(type(module), f"self.{name}")
            if place is None:
                continue
            clues.facts.update(carried=".".join(filter(None, (variable, path, name))), way="module")
            clues.facts["attribute"] = f"self.{name}"
            clues.places["carried"] = place
            return True
    return False


def _first_read(kind: type, name: str) -> Any:
    code = getattr(getattr(kind, "forward", None), "__code__", None)
    scope = source.scope_of(code) if code is not None else None
    reads = source.uses(scope, name) if scope is not None else []
    return (
        source.span(reads[0], code.co_filename, code.co_name)
        if reads and code is not None
        else None
    )


def _twice(spot: Spot, clues: Clues) -> None:
    """Look for an earlier backward pass in the same turn, and for the value that both go through."""
    code = spot.frame.f_code
    scope = source.scope_of(code)
    line = line_of(spot)
    if scope is None:
        return
    loops = source.loops_around(scope, line)
    calls = [node for node in source.inside(loops[0] if loops else scope) if _is_backward(node)]
    here = [node for node in calls if source.covers(node, line)]
    before = [
        node
        for node in calls
        if source.line_at(node) < line or (source.line_at(node) == line and node not in here[-1:])
    ]
    if not before or not here:
        return
    lookup = Lookup(spot.frame)
    first, second = receiver(before[-1]), receiver(here[-1])
    clues.facts.update(way="twice", first=first, second=second)
    clues.places["first"] = source.span(before[-1], code.co_filename, code.co_name)
    nodes = nodes_behind(_value(lookup, first)) & nodes_behind(_value(lookup, second))
    shared = [
        name
        for name, value in spot.variables.items()
        if isinstance(value, torch.Tensor)
        and value.grad_fn in nodes
        and name not in (first, second)
    ]
    if shared:
        clues.facts["shared"] = shared[-1]


def _is_backward(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "backward" or source.text_of(node.func) in (
        "torch.autograd.grad",
        "autograd.grad",
    )


def receiver(call: ast.AST) -> str:
    """Return `loss` of `loss.backward()`, also of `scaler.scale(loss).backward()` and `accelerator.backward(loss)`."""
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    if call.args:
        return source.text_of(call.args[0])
    holder = call.func.value
    if (
        isinstance(holder, ast.Call)
        and isinstance(holder.func, ast.Attribute)
        and holder.func.attr == "scale"
    ):
        return source.text_of(holder.args[0]) if holder.args else source.text_of(holder)
    return source.text_of(holder)


def roots_of(spots: list[Spot]) -> list[torch.Tensor]:
    """Return the tensors that a backward pass started from, as torch's own frame has them."""
    for spot in reversed(spots):
        if spot.layer == "torch" and spot.frame.f_code.co_name in ("backward", "grad"):
            given = spot.variables.get(
                "tensors", spot.variables.get("outputs", spot.variables.get("self"))
            )
            found = list(given) if isinstance(given, (list, tuple)) else [given]
            if found and all(isinstance(one, torch.Tensor) for one in found):
                return found
    return []


def nodes_behind(value: Any) -> set[Any]:
    """Return the autograd nodes that a tensor's graph is made of, leaves left out."""
    waiting = [value.grad_fn] if isinstance(value, torch.Tensor) else []
    found: set[Any] = set()
    while waiting and len(found) < MOST_NODES:
        node = waiting.pop()
        if node is None or node in found or node.name().endswith("AccumulateGrad"):
            continue
        found.add(node)
        waiting += [following for following, _ in node.next_functions]
    return found
