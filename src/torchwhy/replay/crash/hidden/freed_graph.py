"""A graph was used a second time: finds the variable that carried it over, and from where.

This happens in three ways: an iteration leaves a value for the next one, a value was made once before the loop, or one
iteration makes two backward passes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch

from torchwhy.finding import SourceSpan
from torchwhy.observe.torch_features.autograd_nodes import are_numbered, number_of_node
from torchwhy.replay.crash.frames.lookup import Lookup, Unknown
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts, line_of, user_frames
from torchwhy.replay.crash.hidden.state_holders import attributes_in
from torchwhy.source.analyses.running_order import Touch, touches
from torchwhy.source.bindings import bindings
from torchwhy.source.calls import receiver
from torchwhy.source.files import loaded, scope_of, span_in
from torchwhy.source.scopes import Turn, covers, inside, line_at, loops_around, statement_around
from torchwhy.source.values import text_of

MOST_NODES = 50_000  # of a graph that is searched for what two losses share
MOST_ITEMS = 64  # of a list: its newest
MOST_DEEP = 3  # lists in dicts in tuples; deeper state is not searched


def look(frames: list[TracebackFrame], freed_before: int) -> HiddenFacts:
    """Return what carried the graph: facts `carried`, `way` (loop, before-loop, module, twice, shared) and the places.

    Nodes with a number below `freed_before` existed already when the pass that freed the graph began.
    """
    hidden = HiddenFacts()
    users = user_frames(frames)
    nodes = {node for root in roots_of(frames) for node in nodes_behind(root)}
    for frame in users:
        if _in_one_frame(frame, nodes, hidden):
            return hidden
    if not users or not are_numbered or _in_objects(users, nodes, freed_before, hidden):
        return hidden
    _twice(users[0], hidden)
    if "way" not in hidden.facts:
        _shared(
            users,
            {node for node in nodes if number_of_node(node) < freed_before},
            hidden,
        )
    return hidden


def _in_one_frame(frame: TracebackFrame, nodes: set[Any], hidden: HiddenFacts) -> bool:
    """Look for a carrier among the variables of a frame that runs a loop."""
    code = frame.code
    scope = scope_of(code)
    loops = loops_around(scope, line_of(frame)) if scope is not None else []
    turns: list[Turn] = [*loops]
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        turns.append(scope)
    for loop in turns:
        candidates = list(_carried(loop, frame, nodes))
        if not candidates:
            continue
        name, place, way = candidates[0]
        hidden.facts.update(carried=name, way=way)
        hidden.places["carried"] = span_in(code, place)
        made = bindings(loop if way == "loop" else scope or loop, name)
        if made:
            hidden.places["made"] = span_in(code, made[-1][0])
        _note_cure(place, loop, frame, hidden)
        return True
    return False


def _note_cure(place: ast.expr, loop: Turn, frame: TracebackFrame, hidden: HiddenFacts) -> None:
    """Note the diff that detaches a state where it is taken over; not for sums, which want another cure."""
    name = str(hidden.facts["carried"])
    statement = statement_around(loop, place)
    value = _value(Lookup(frame.live), name)
    hidden.facts["is_sum"] = isinstance(statement, ast.AugAssign) or (
        isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp)
    )
    hidden.facts["is_collection"] = not isinstance(value, torch.Tensor)
    if (
        hidden.facts["way"] == "loop"
        and not hidden.facts["is_sum"]
        and isinstance(value, torch.Tensor)
        and not _is_in_an_inner_loop(place, loop)
    ):
        source = loaded(frame.filename)
        hidden.facts["diff"] = source.replaced(place, f"{name}.detach()") if source else ""


def _is_in_an_inner_loop(place: ast.expr, turn: Turn) -> bool:
    """Tell whether a place is passed several times in one turn: cut there, the turn would be cut into pieces."""
    return any(
        any(part is place for statement in node.body for part in ast.walk(statement))
        for node in inside(turn)
        if isinstance(node, (ast.For, ast.While, ast.AsyncFor))
    )


def _carried(
    loop: Turn, frame: TracebackFrame, nodes: set[Any]
) -> Iterator[tuple[str, ast.expr, str]]:
    """Yield variables of this graph that a loop's body reads before it assigns them.

    A function called in every iteration is such a body, for the variables that outlive its calls.
    """
    lookup = Lookup(frame.live)
    code = frame.code
    outlive = {*code.co_freevars, *code.co_names} - {*code.co_varnames, *code.co_cellvars}
    is_function = isinstance(loop, (ast.FunctionDef, ast.AsyncFunctionDef))
    first: dict[str, Touch] = {}
    for touch in touches(loop.body):
        if not is_function or touch.name in outlive:
            first.setdefault(touch.name, touch)
    read = {name: _value(lookup, name) for name, touch in first.items() if touch.is_read}
    # A value of the graph itself proves more than one that shares a part with it, such as a kept best loss.
    for belongs in (_is_in, _shares_a_part_with):
        for name, value in read.items():
            if any(belongs(tensor, nodes) for tensor in tensors_with_graph(value)):
                stored = bool(bindings(loop, name))
                kept = isinstance(value, (list, tuple, dict))
                yield name, first[name].node, "loop" if stored or kept else "before-loop"


def _is_in(tensor: torch.Tensor, nodes: set[Any]) -> bool:
    return tensor.grad_fn in nodes


def _shares_a_part_with(tensor: torch.Tensor, nodes: set[Any]) -> bool:
    return not nodes.isdisjoint(nodes_behind(tensor))


def _value(lookup: Lookup, name: str) -> Any:
    try:
        return lookup.value(ast.parse(name, mode="eval").body)
    except (Unknown, AttributeError, KeyError, IndexError, TypeError):
        return None


def tensors_with_graph(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """Yield the tensors with a graph that a value is or holds."""
    if isinstance(value, torch.Tensor):
        if value.grad_fn is not None:
            yield value
    elif depth < MOST_DEEP and type(value) in (list, tuple, dict):
        items = list(value.values()) if isinstance(value, dict) else value
        for item in items[-MOST_ITEMS:]:
            yield from tensors_with_graph(item, depth + 1)


def _in_objects(
    users: list[TracebackFrame], nodes: set[Any], freed_before: int, hidden: HiddenFacts
) -> bool:
    """Look for a tensor of this graph that a module or object keeps for the next iteration, and where it is read."""
    for holder, name, value in attributes_in(users):
        tensors = [
            tensor for tensor in tensors_with_graph(value) if _shares_a_part_with(tensor, nodes)
        ]
        # A value that existed when the graph was freed was not carried over: two passes share it.
        if not any(number_of_node(tensor.grad_fn) >= freed_before for tensor in tensors):
            continue
        place = _first_read(type(holder.value), f"self.{name}")
        if place is not None:
            hidden.facts.update(
                carried=f"{holder.path}.{name}", way="module", attribute=f"self.{name}"
            )
            hidden.facts["is_collection"] = not isinstance(value, torch.Tensor)
            hidden.places["carried"] = place
            return True
    return False


def _first_read(kind: type, name: str) -> SourceSpan | None:
    """Return where a method of a class reads an attribute before it assigns it, `forward` first."""
    for method in (kind.__dict__.get("forward"), *kind.__dict__.values()):
        code = getattr(method, "__code__", None)
        scope = scope_of(code) if code is not None and code.co_name != "__init__" else None
        if code is None or not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        first = next((touch for touch in touches(scope.body) if touch.name == name), None)
        if first is not None and first.is_read:
            return span_in(code, first.node)
    return None


def _shared(users: list[TracebackFrame], freed: set[Any], hidden: HiddenFacts) -> None:
    """Name the newest variable or attribute whose graph an earlier backward pass went through."""
    named = [(name, value) for frame in users for name, value in frame.variables.items()]
    named += [(f"{holder.path}.{name}", value) for holder, name, value in attributes_in(users)]
    found = [
        (number_of_node(value.grad_fn), name)
        for name, value in named
        if isinstance(value, torch.Tensor) and value.grad_fn in freed
    ]
    if found:
        hidden.facts.update(way="shared", shared=max(found)[1])


def _twice(frame: TracebackFrame, hidden: HiddenFacts) -> None:
    """Look for an earlier backward pass in the same iteration, and for the value that both pass through."""
    code = frame.code
    scope = scope_of(code)
    line = line_of(frame)
    if scope is None:
        return
    loops = loops_around(scope, line)
    calls = [node for node in inside(loops[0] if loops else scope) if _is_backward(node)]
    here = [node for node in calls if covers(node, line)]
    before = [
        node
        for node in calls
        if line_at(node) < line or (line_at(node) == line and node not in here[-1:])
    ]
    if not before or not here:
        return
    lookup = Lookup(frame.live)
    first, second = text_of(receiver(before[-1])), text_of(receiver(here[-1]))
    hidden.facts.update(way="twice", first=first, second=second)
    hidden.places["first"] = span_in(code, before[-1])
    nodes = nodes_behind(_value(lookup, first)) & nodes_behind(_value(lookup, second))
    shared = [
        name
        for name, value in frame.variables.items()
        if isinstance(value, torch.Tensor)
        and value.grad_fn in nodes
        and name not in (first, second)
    ]
    if shared:
        hidden.facts["shared"] = shared[-1]


def _is_backward(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "backward" or text_of(node.func) in (
        "torch.autograd.grad",
        "autograd.grad",
    )


def roots_of(frames: list[TracebackFrame]) -> list[torch.Tensor]:
    """Return the tensors that a backward pass started from, as torch's own frame has them."""
    for frame in reversed(frames):
        if frame.layer == "torch" and frame.code.co_name in ("backward", "grad"):
            given = frame.variables.get(
                "tensors", frame.variables.get("outputs", frame.variables.get("self"))
            )
            found = list(given) if isinstance(given, (list, tuple)) else [given]
            if found and all(isinstance(one, torch.Tensor) for one in found):
                return found
    return []


def nodes_behind(value: Any) -> set[Any]:
    """Return the autograd nodes of a tensor's graph without its leaves."""
    waiting = [value.grad_fn] if isinstance(value, torch.Tensor) else []
    found: set[Any] = set()
    while waiting and len(found) < MOST_NODES:
        node = waiting.pop()
        if node is None or node in found or node.name().endswith("AccumulateGrad"):
            continue
        found.add(node)
        waiting += [following for following, _ in node.next_functions]
    return found
