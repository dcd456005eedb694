"""Shows the shapes of the data on its way through the model, from the operations that the microscope saw."""

from __future__ import annotations

from torchwhy.observe.program.frames import span_of
from torchwhy.record.crashes import WalkStep
from torchwhy.replay.microscope.expressions import node_at
from torchwhy.replay.microscope.operations import Operation
from torchwhy.source.calls import called
from torchwhy.source.text import one_line
from torchwhy.source.values import text_of

MOST_STATIONS = 60
LONGEST_EXPRESSION = 32
# Operations inside of one station, or none that a person would call a layer.
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
    """Return one station for each module or expression of the user's, with its output shape."""
    found: list[tuple[object, Operation]] = []
    for operation in operations:
        if (
            operation.node is not None
            or operation.phase not in ("forward", "data")
            or not operation.sites
        ):
            continue
        if operation.info.base in SKIPPED or _carries_no_data(operation):
            continue
        key = (operation.sites[0], operation.module)
        if found and found[-1][0] == key:
            found[-1] = (key, operation)
        else:
            found.append((key, operation))
    if not any(one.module is not None or any(one.tracked) for _, one in found):
        return []  # The data were made, and no model has run.
    return [_station(operation) for _, operation in found][-MOST_STATIONS:]


def _carries_no_data(operation: Operation) -> bool:
    """Tell whether an operation makes numbers of its own: a factory, a draw, an initialisation."""
    info = operation.info
    return not operation.input_shapes or info.is_creating or info.is_overwriting


def _station(operation: Operation) -> WalkStep:
    return WalkStep(
        what=_name(operation),
        shape=list(operation.shape),
        dtype=operation.dtype,
        location=span_of(operation.sites[0]),
    )


def _name(operation: Operation) -> str:
    """Return a module's own name, or the function the user's expression calls, or the expression itself."""
    node, module = node_at(operation.sites[0]), operation.module
    word = called(node)
    if module is not None:
        if word == module.rpartition(".")[2]:
            return word
        if word in ("", "self", "model", "net", "layer", "block"):
            return _local(module) if "." in module else operation.info.base.strip("_")
        if word in module.split("."):  # `self.net(x)`, with `net.0` inside
            return _local(module)
    if word:
        return word
    text = one_line(text_of(node)) if node is not None else ""
    return text if 0 < len(text) <= LONGEST_EXPRESSION else operation.info.base.strip("_")


def _local(path: str) -> str:
    """Return the last two parts of a path when the last is a number: `net.0`."""
    head, _, last = path.rpartition(".")
    return f"{head.rpartition('.')[2]}.{last}" if last.isdigit() and head else last
