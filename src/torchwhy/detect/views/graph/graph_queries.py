"""The forward graph of an observed step: which operation feeds which, up to the loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from heapq import merge

from torchwhy.finding import SourceSpan
from torchwhy.record.learning import GraphOperation, LossRoot
from torchwhy.record.trace import Trace

# Operations that pass their values on unchanged: casts, copies, reshapes that copy.
TRANSPARENT = {
    "_to_copy",
    "clone",
    "contiguous",
    "copy",
    "alias",
    "detach",
    "lift_fresh",
    "_unsafe_view",
    "_reshape_alias",
}
# Operations that lead from an error or a log-probability to the loss: elementwise ones, means and sums.
ELEMENTWISE = {
    "add", "sub", "rsub", "mul", "div", "neg", "abs", "pow", "square", "sqrt", "mean", "sum", "clamp", "clamp_min",
    "clamp_max", "minimum", "maximum", "relu", "log1p", "softplus", "reciprocal", "log_sigmoid_forward",
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "_to_copy", "clone", "alias", "lift_fresh", "nan_to_num", "where", "lt", "le", "gt", "ge",
}  # fmt: skip
ERRORS = {
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
}


class _Index:
    """The operations of an observed step in the order they ran, by number and by base name."""

    def __init__(self, trace: Trace) -> None:
        everything = sorted(trace.of(GraphOperation), key=lambda operation: operation.order)
        self.operations = {one.order: one for one in everything if not one.is_view}
        self.views = {one.order: one for one in everything if one.is_view}
        self.is_whole = trace.has_all("operations")
        self.losses = [root for root in trace.of(LossRoot) if root.accumulates]

    @cached_property
    def by_base(self) -> dict[str, list[GraphOperation]]:
        """Return the operations of each base name."""
        found: dict[str, list[GraphOperation]] = {}
        for operation in self.operations.values():
            found.setdefault(base_of(operation), []).append(operation)
        return found

    @cached_property
    def consumers(self) -> dict[int, list[GraphOperation]]:
        """Return the operations that use each operation's result."""
        found: dict[int, list[GraphOperation]] = {}
        for operation in self.operations.values():
            for order in dict.fromkeys(operation.inputs):
                found.setdefault(order, []).append(operation)
        return found


class ForwardGraph:
    """Operations by number, with the operations that feed them; views are skipped unless asked for."""

    def __init__(self, trace: Trace) -> None:
        # Some forty causes query the graph of a trace; the tables behind it are made for the first.
        self._index = index = trace.once(_Index)
        self._operations, self._views = index.operations, index.views
        self._is_whole = index.is_whole
        self.losses = index.losses

    def __bool__(self) -> bool:
        return bool(self._operations)

    def operations(self, *bases: str) -> Iterator[GraphOperation]:
        """Yield the operations with these base names in the order they ran; without names, all of them."""
        if not bases:
            yield from self._operations.values()
            return
        found = [self._index.by_base.get(base, ()) for base in bases]
        yield from merge(*found, key=lambda operation: operation.order)

    def operation(self, order: int | None) -> GraphOperation | None:
        """Return the operation with this number; None if it is not in the graph."""
        return None if order is None else self._operations.get(order)

    def views(self) -> Iterator[GraphOperation]:
        """Yield the operations that only view a tensor in another shape, in the order they ran."""
        yield from self._views.values()

    def view(self, operation: GraphOperation, position: int) -> GraphOperation | None:
        """Return the last view that an operand passed through."""
        order = operation.views[position] if position < len(operation.views) else -1
        return self._views.get(order)

    def shape_given(self, operation: GraphOperation, position: int) -> list[int]:
        """Return the shape of an operand as the program passes it, before torch broadcasts it."""
        view = self.view(operation, position)
        if view is not None and base_of(view) == "expand" and view.location == operation.location:
            return list(view.input_shapes[0])
        return (
            list(operation.input_shapes[position]) if position < len(operation.input_shapes) else []
        )

    def giver(self, operation: GraphOperation, position: int) -> GraphOperation | None:
        """Return the operation or view whose result is an operand in the shape that the program passes."""
        shape = self.shape_given(operation, position)
        candidates = (self.view(operation, position), self.source(operation, position))
        return next((one for one in candidates if one is not None and one.shape == shape), None)

    def sources(self, operation: GraphOperation) -> list[GraphOperation | None]:
        """Return the operation that made each operand, skipping casts and copies; None if it came from outside."""
        return [self._made(order) for order in operation.inputs]

    def source(self, operation: GraphOperation, position: int = 0) -> GraphOperation | None:
        """Return the operation that made one operand, skipping casts and copies."""
        made = self.sources(operation)
        return made[position] if position < len(made) else None

    def ancestors(self, operation: GraphOperation) -> Iterator[GraphOperation]:
        """Yield an operation and everything that fed it, nearest first."""
        queue, seen = [operation], set()
        while queue:
            current = queue.pop(0)
            if current.order in seen:
                continue
            seen.add(current.order)
            yield current
            queue += [
                made
                for order in current.inputs
                if (made := self._operations.get(order)) is not None
            ]

    def descends_from(self, operation: GraphOperation, ancestor: GraphOperation) -> bool:
        """Tell whether an operation is fed, directly or not, by another."""
        return any(above.order == ancestor.order for above in self.ancestors(operation))

    @property
    def consumers(self) -> dict[int, list[GraphOperation]]:
        """Return the operations that use each operation's result."""
        return self._index.consumers

    def consumers_of(self, operation: GraphOperation) -> list[GraphOperation]:
        """Return the operations that use a result, skipping casts and copies."""
        found: list[GraphOperation] = []
        for consumer in self.consumers.get(operation.order, []):
            transparent = base_of(consumer) in TRANSPARENT
            found += self.consumers_of(consumer) if transparent else [consumer]
        return found

    def misses(self, operation: GraphOperation) -> bool:
        """Tell whether an operation that made an operand, or a view of one, was left out of the record."""
        if self._is_whole:
            return False
        made = [order not in self._operations for order in operation.inputs if order >= 0]
        return any(made) or any(order not in self._views for order in operation.views if order >= 0)

    def reads_gradient(self, operation: GraphOperation) -> bool:
        """Tell whether an operand was made by a backward pass, in a graph of which nothing was left out.

        Of what feeds a loss, only parameters and the operations of backward passes are not recorded.
        """
        if operation.parameters or operation.differentiable:
            return False
        return any(
            order >= 0 and order not in self._operations and order not in self._views
            for order in operation.inputs
        )

    def trains(self, operation: GraphOperation | None) -> bool:
        """Tell whether a parameter feeds an operation, so that it belongs to the model and not to the data."""
        if operation is None or not operation.differentiable:
            return False
        return any(above.parameters and above.differentiable for above in self.ancestors(operation))

    def operand_trains(self, operation: GraphOperation, position: int) -> bool:
        """Tell whether gradients flow back through one operand to a parameter."""
        tracked = operation.tracked[position] if position < len(operation.tracked) else True
        return tracked and self.trains(self.source(operation, position))

    @property
    def has_moving_targets(self) -> bool:
        """Tell whether the loss compares with a network's output, as in Q-learning, or may do so.

        Such targets change as the network learns, and the size of the loss with them.
        """
        return any(
            not operation.tracked[place]
            and any(above.parameters or self.misses(above) for above in self.ancestors(made))
            for operation in self.operations("sub", *ERRORS)
            if operation.differentiable and len(operation.tracked) > 1 and any(operation.tracked)
            for place, made in enumerate(self.sources(operation)[: len(operation.tracked)])
            if made is not None
        )

    def goes_to_loss(
        self,
        operation: GraphOperation,
        allowed: set[str],
        on_way: Callable[[GraphOperation], bool] = lambda _: True,
    ) -> bool:
        """Tell whether every path from a result leads to a loss through allowed operations only."""
        roots = {root.order for root in self.losses}
        queue, seen, arrived = [operation], {operation.order}, operation.order in roots
        while queue:
            current = queue.pop()
            for consumer in self.consumers.get(current.order, []):
                if consumer.order in seen:
                    continue
                if base_of(consumer) not in allowed or not on_way(consumer):
                    return False
                seen.add(consumer.order)
                arrived = arrived or consumer.order in roots
                queue.append(consumer)
        return arrived

    def _made(self, order: int) -> GraphOperation | None:
        operation = self._operations.get(order)
        while operation is not None and base_of(operation) in TRANSPARENT and operation.inputs:
            operation = self._operations.get(operation.inputs[0])
        return operation


def base_of(operation: GraphOperation) -> str:
    """Return `log` for `aten.log.default`, `relu` for `aten.relu_.default`."""
    return _base(operation.op)


@lru_cache(maxsize=1024)
def _base(op: str) -> str:
    parts = op.split(".")
    name = parts[1] if len(parts) > 1 else parts[0]
    return name.rstrip("_")


def axis_of(operation: GraphOperation) -> int | None:
    """Return the dimension that a softmax runs over, counted from 0."""
    axis = operation.scalars.get("1")
    if not isinstance(axis, (int, float)) or isinstance(axis, bool) or not operation.shape:
        return None
    return int(axis) % len(operation.shape)


def range_given(operation: GraphOperation, position: int = 0) -> tuple[float, float] | None:
    """Return the smallest and the largest element of an operand; None if they are unknown."""
    facts = operation.facts[position] if position < len(operation.facts) else None
    if facts is None or facts.minimum is None or facts.maximum is None:
        return None
    return facts.minimum, facts.maximum


def elements(shape: list[int]) -> int:
    """Return the number of elements of a shape."""
    return math.prod(shape)


def expression_of(location: SourceSpan | None, otherwise: str) -> str:
    """Return the program's expression in backquotes, or `otherwise` if it is unknown."""
    return f"`{location.expression}`" if location is not None and location.expression else otherwise
