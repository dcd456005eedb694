"""The way of the data through the model, told by the operations that the microscope saw."""

from __future__ import annotations

import ast

from torchwhy.observe.program.frames import span_of
from torchwhy.record.events import WalkStep
from torchwhy.replay.microscope.expressions import node_at
from torchwhy.replay.microscope.operations import Operation

MOST_STATIONS = 60
LONGEST_EXPRESSION = 32
# Steps inside one station, or of no interest on the way: nothing a person would call a layer.
SKIPPED = {
    "t",
    "detach",
    "empty_like",
    "bernoulli_",
    "lift_fresh",
    "_to_copy",
    "clone",
    "alias",
    "is_same_size",
    "ones_like",
}


def stations(operations: list[Operation]) -> list[WalkStep]:
    """Return one station for each module or expression of the user's, with the shape that left it."""
    found: list[tuple[object, Operation]] = []
    for operation in operations:
        if (
            operation.node is not None
            or operation.phase not in ("forward", "data")
            or not operation.sites
        ):
            continue
        if operation.info.base in SKIPPED:
            continue
        key = (operation.sites[0], operation.module)
        if found and found[-1][0] == key:
            found[-1] = (key, operation)
        else:
            found.append((key, operation))
    return [_station(operation) for _, operation in found][-MOST_STATIONS:]


def _station(operation: Operation) -> WalkStep:
    return WalkStep(
        what=_name(operation),
        shape=list(operation.shape),
        dtype=operation.dtype,
        location=span_of(operation.sites[0]),
    )


def _name(operation: Operation) -> str:
    """Return a module's own name, or the function the user's expression calls, or the expression itself."""
    node = node_at(operation.sites[0])
    called = _called(node)
    if operation.module is not None and called in _last_names(operation.module):
        return called
    if operation.module is not None and (
        called == "self" or called in ("", "model", "net", "layer", "block")
    ):
        return (
            _local(operation.module) if "." in operation.module else operation.info.base.strip("_")
        )
    if (
        operation.module is not None
        and isinstance(node, ast.Call)
        and _calls_module(node, operation)
    ):
        return _local(operation.module)
    if isinstance(node, ast.Call) and called:
        return called
    text = " ".join(ast.unparse(node).split()) if node is not None else ""
    if text and len(text) <= LONGEST_EXPRESSION:
        return text
    return operation.info.base.strip("_")


def _called(node: ast.AST | None) -> str:
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _calls_module(node: ast.Call, operation: Operation) -> bool:
    """Tell whether the operation ran inside a module that the expression calls, `self.net(x)` with `net.0` inside."""
    parts = (operation.module or "").split(".")
    return _called(node) in parts


def _last_names(path: str) -> tuple[str, ...]:
    return (path.rpartition(".")[2],)


def _local(path: str) -> str:
    """Return the last two parts of a path when the last is a number: `net.0`."""
    head, _, last = path.rpartition(".")
    return f"{head.rpartition('.')[2]}.{last}" if last.isdigit() and head else last
