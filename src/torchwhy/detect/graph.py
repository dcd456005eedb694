"""The forward graph of the first step, as detectors of the family *wiring* read it: who feeds whom, up to the loss."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from torchwhy.record.learning import GraphOperation, LossRoot
from torchwhy.record.trace import Trace

# Operations that hand their values on unchanged as far as wiring is concerned: casts, copies, scalings of a loss.
TRANSPARENT = {"_to_copy", "clone", "contiguous", "copy_", "copy", "alias", "detach", "lift_fresh"}


class ForwardGraph:
    """Operations by number, with their sources; views are transparent already in the record."""

    def __init__(self, trace: Trace) -> None:
        self._operations = {operation.order: operation for operation in trace.of(GraphOperation)}
        self.losses = [root for root in trace.of(LossRoot) if root.accumulates]

    def __bool__(self) -> bool:
        return bool(self._operations)

    def operations(self, *bases: str) -> Iterator[GraphOperation]:
        """Yield the operations of some kinds in the order they ran; all when no kind is given."""
        for _, operation in sorted(self._operations.items()):
            if not bases or base_of(operation) in bases:
                yield operation

    def sources(self, operation: GraphOperation) -> list[GraphOperation | None]:
        """Return what made each operand, looking through casts and copies; None for what came from outside."""
        return [self._made(order) for order in operation.inputs]

    def source(self, operation: GraphOperation, position: int = 0) -> GraphOperation | None:
        """Return what made one operand."""
        made = self.sources(operation)
        return made[position] if position < len(made) else None

    def descends_from(self, operation: GraphOperation, ancestor: GraphOperation) -> bool:
        """Tell whether an operation is fed, directly or not, by another."""
        queue, seen = [operation], set()
        while queue:
            current = queue.pop()
            if current.order == ancestor.order:
                return True
            if current.order in seen or current.order < ancestor.order:
                continue
            seen.add(current.order)
            queue += [made for order in current.inputs if (made := self._operations.get(order)) is not None]
        return False

    @cached_property
    def consumers(self) -> dict[int, list[GraphOperation]]:
        """Return the operations that take each operation's result."""
        found: dict[int, list[GraphOperation]] = {}
        for operation in self._operations.values():
            for order in operation.inputs:
                found.setdefault(order, []).append(operation)
        return found

    def trains(self, operation: GraphOperation) -> bool:
        """Tell whether a parameter feeds an operation: it is part of the model's way to the loss, not of the data."""
        queue, seen = [operation], set()
        while queue:
            current = queue.pop()
            if current.order in seen:
                continue
            seen.add(current.order)
            if "parameter" in current.leaves and current.differentiable:
                return True
            queue += [made for order in current.inputs if (made := self._operations.get(order)) is not None]
        return False

    def _made(self, order: int) -> GraphOperation | None:
        operation = self._operations.get(order)
        while operation is not None and base_of(operation) in TRANSPARENT and operation.inputs:
            operation = self._operations.get(operation.inputs[0])
        return operation


def base_of(operation: GraphOperation) -> str:
    """Return `log` for `aten.log.default`, `relu` for `aten.relu_.default`."""
    parts = operation.op.split(".")
    name = parts[1] if len(parts) > 1 else parts[0]
    return name.rstrip("_")


def root_of(graph: ForwardGraph) -> LossRoot | None:
    """Return the first loss of the first step."""
    return graph.losses[0] if graph.losses else None
