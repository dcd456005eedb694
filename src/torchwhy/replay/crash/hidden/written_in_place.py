"""Finds the operation that saved a value for its gradient, and the one that overwrote the value."""

from __future__ import annotations

import ast
import math
import re
from types import CodeType
from typing import Any

import torch

from torchwhy.observe.torch_features.autograd_nodes import number_of_node, saved_names
from torchwhy.observe.torch_features.tensor_parts import version_of
from torchwhy.replay.crash.frames.lookup import Lookup, Unknown
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden import freed_graph
from torchwhy.replay.crash.hidden.cut_graph import codes_of
from torchwhy.replay.crash.hidden.freed_graph import nodes_behind, roots_of
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts, user_frames
from torchwhy.replay.crash.hidden.state_holders import modules_in
from torchwhy.replay.microscope.expressions import operand_names, span_in_module
from torchwhy.replay.microscope.write_log import Record, WriteLog
from torchwhy.source.files import scope_of, span_in
from torchwhy.source.scopes import inside
from torchwhy.source.values import text_of

MOST_VIEWS = 4  # views between a weight and the operation that uses it: transposed, then reshaped
MODIFIED = "modified by an inplace operation"
SHAPE = re.compile(r"\[torch\.\w+ \[(?P<shape>[\d, ]*)\]\]")
VERSIONS = re.compile(r"is at version (?P<now>\d+); expected version (?P<expected>\d+)")


def look(
    frames: list[TracebackFrame], message: str, log: WriteLog, freed_before: int
) -> HiddenFacts:
    """Return the places `needed` and `written`, and the facts `node`, `operation`, `variable`, `phase`.

    If the value is a weight and the graph is of an earlier iteration, also what carried it over, as `freed_graph.look`
    finds it.
    """
    hidden = HiddenFacts()
    users = user_frames(frames)
    if not users or MODIFIED not in message:
        return hidden
    _note_numbers(message, hidden)
    node = _node_that_needed_it(frames)
    if node is not None:
        hidden.facts["node"] = node.name().rpartition(":")[2]
    needed = log.needed_by(number_of_node(node)) if node is not None else None
    of_weight = node is not None and _lacks_a_weight(node, hidden.facts.get("shape"))
    written = log.writer_after(needed, of_weight=of_weight) if needed is not None else None
    if of_weight and number_of_node(node) < freed_before:
        carrier = freed_graph.look(frames, freed_before)
        if carrier.facts.get("way") in ("loop", "module"):
            hidden.facts.update(carrier.facts)
            hidden.places.update(carrier.places)
    if needed is not None:
        _note(hidden, "needed", needed)
    if written is not None:
        _note(hidden, "written", written)
        hidden.facts["phase"] = written.phase
        hidden.facts["variable"] = _written_name(written)
    elif "carried" not in hidden.places:
        _only_candidate(users, message, hidden)
    return hidden


def _note_numbers(message: str, hidden: HiddenFacts) -> None:
    found = SHAPE.search(message)
    if found is not None:
        hidden.facts["shape"] = [int(size) for size in found["shape"].split(",") if size.strip()]
    found = VERSIONS.search(message)
    if found is not None:
        hidden.facts["times_written"] = float(int(found["now"]) - int(found["expected"]))


def _node_that_needed_it(frames: list[TracebackFrame]) -> Any:
    """Return the autograd node whose saved value was overwritten: reading it raises."""
    nodes: set[Any] = set()
    for root in roots_of(frames):
        nodes |= nodes_behind(root)
    newest_first = sorted(nodes, key=number_of_node, reverse=True)
    return next((node for node in newest_first if _has_stale_value(node)), None)


def _has_stale_value(node: Any) -> bool:
    for name in [*saved_names(node), "saved_tensors"]:
        try:
            getattr(node, name, None)
        except RuntimeError as problem:
            if MODIFIED in str(problem):
                return True
    return False


def _lacks_a_weight(node: Any, shape: Any) -> bool:
    """Tell whether the value that a node lost is a weight, or a view of one: of the same size, and written to."""
    size = math.prod(shape) if isinstance(shape, list) else None
    for start, _ in node.next_functions:
        below = start
        for _ in range(MOST_VIEWS):
            if below is None or len(below.next_functions) != 1:
                break
            below = below.next_functions[0][0]
        weight = getattr(below, "variable", None)
        if weight is not None and weight.numel() == size and version_of(weight):
            return True
    return False


def _note(hidden: HiddenFacts, name: str, record: Record) -> None:
    if record.site is not None:
        hidden.places[name] = span_in_module(record.site, record.module)
    hidden.facts["operation" if name == "written" else "needed_operation"] = record.name


def _written_name(record: Record) -> str | None:
    """Return the program's name for the value that it overwrote."""
    if record.site is None:
        return None
    names = operand_names(record.site)
    return names[0] if names else None


def _only_candidate(users: list[TracebackFrame], message: str, hidden: HiddenFacts) -> None:
    """Without a log of the step, blame the only statement of the running code that writes in place."""
    found = [
        (code, node)
        for code in _running_code(users)
        for node in inside(scope_of(code) or ast.Module([], []))
        if _writes_in_place(node, message, users)
    ]
    if len(found) == 1:
        hidden.places["written"] = span_in(*found[0])


def _running_code(users: list[TracebackFrame]) -> list[CodeType]:
    """Return the code on the stack, and the `forward` of every module of the user's that it holds."""
    codes = [frame.code for frame in users]
    codes += [
        code for frame in users for _, module in modules_in(frame) for code in codes_of(module)
    ]
    return list(dict.fromkeys(codes))


def _writes_in_place(node: ast.AST, message: str, users: list[TracebackFrame]) -> bool:
    """Tell whether a statement changes a tensor: `h += 1`, `h[0] = 1`, `h.mul_(2)`, `relu(h, inplace=True)`."""
    if isinstance(node, ast.AugAssign):
        return _may_be_tensor(node.target, users, message)
    if isinstance(node, ast.Assign):
        return any(
            isinstance(target, ast.Subscript) and _may_be_tensor(target.value, users, message)
            for target in node.targets
        )
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if any(
        keyword.arg == "inplace" and text_of(keyword.value) == "True" for keyword in node.keywords
    ):
        return True
    name = node.func.attr
    return (
        name.endswith("_") and not name.endswith("__") and name not in ("requires_grad_", "detach_")
    )


def _may_be_tensor(node: ast.AST, users: list[TracebackFrame], message: str) -> bool:
    """Tell whether a name may be a tensor of the message's shape."""
    wanted = SHAPE.search(message)
    base = node.value if isinstance(node, ast.Subscript) else node
    for frame in users:
        try:
            value = Lookup(frame.live).value(base)
        except (Unknown, AttributeError, KeyError, IndexError, TypeError, RuntimeError):
            continue
        if not isinstance(value, torch.Tensor):
            return False
        return wanted is None or f"[{wanted['shape']}]" == str(list(value.shape))
    return True
