"""The graph of a watched step's forward, written into the trace: who feeds the loss, so that detectors can read it."""

from __future__ import annotations

import math
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from torchwhy.observe.program.frames import Site, span_of
from torchwhy.record.learning import GraphOperation, LossRoot
from torchwhy.record.numbers import Real, encode
from torchwhy.replay.microscope.expressions import span_in_module
from torchwhy.replay.microscope.forward_notes import CUTS
from torchwhy.replay.microscope.operations import Operation

if TYPE_CHECKING:
    from torchwhy.replay.equipment import Stage

SOFTMAXES = {"_softmax", "_log_softmax"}
MOST_TOLD = 1500  # operations of one step that are written: those nearest to the loss


class GraphWriter:
    """Writes the ancestors of each loss once, in the order they ran."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._told: set[int] = set()
        self.reached: set[int] = (
            set()
        )  # operations that a loss of the watched steps depends on, by memory

    def begin_anew(self) -> None:
        """Forget the graph that was written: another phase begins."""
        self._told.clear()
        self.reached.clear()

    def write_ancestors(self, losses: list[torch.Tensor], *, accumulates: bool = True) -> None:
        """Write what led to these losses, and the losses themselves."""
        for loss in losses:
            entry = self._stage.microscope.memory_writers.entry(loss)
            producer = entry.last_operation if entry is not None else None
            found: list[Operation] = []
            if producer is not None:
                found = sorted(_ancestors(producer), key=lambda o: o.order)
                self.reached.update(operation.order for operation in found)
                names = self._stage.session.names.parameters()
                for operation in found:
                    self._note(operation, names)
            site = producer.place() if producer is not None else None
            self._stage.session.write(
                LossRoot(
                    step=self._stage.session.sentinel.step,
                    order=producer.order if producer is not None else None,
                    value=encode(float(loss.item())) if not loss.is_complex() else 0.0,
                    location=span_of(site) if site else None,
                    accumulates=accumulates,
                    operations=_with_gradient(found),
                    look=self._stage.observation,
                )
            )

    def write_places(self, losses: list[torch.Tensor]) -> None:
        """Write where the losses of a later step were made, without what led to them."""
        for loss in losses:
            entry = self._stage.microscope.memory_writers.entry(loss)
            producer = entry.last_operation if entry is not None else None
            site = producer.place() if producer is not None else None
            if producer is not None and site is not None and not loss.is_complex():
                self._stage.session.write(
                    LossRoot(
                        step=self._stage.session.sentinel.step,
                        order=None,
                        value=encode(float(loss.item())),
                        location=span_of(site),
                        accumulates=False,
                        operations=_with_gradient(_ancestors(producer)),
                    )
                )

    def _note(self, operation: Operation, names: dict[int, str]) -> None:
        """Take of an operation what it will let go of with the step; the event is written later."""
        if operation.order in self._told or len(self._told) >= MOST_TOLD:
            return
        self._told.add(operation.order)
        self._stage.session.postpone(
            partial(
                _event,
                operation,
                operation.place(),
                inputs=[source.order if source is not None else -1 for source in operation.inputs],
                views=[view.order if view is not None else -1 for view in operation.through],
                parameters=[
                    names.get(number, "")
                    for number in operation.parameter_ids
                    if number is not None
                ],
                made_at=self._stage.activity.made_at(operation.module)
                if _is_odd(operation)
                else None,
                look=self._stage.observation,
            )
        )


def _event(operation: Operation, site: Site | None, **noted: Any) -> GraphOperation:
    return GraphOperation(
        order=operation.order,
        op=operation.info.name,
        step=operation.step,
        location=span_in_module(site, operation.module) if site else None,
        module=operation.module,
        shape=list(operation.shape),
        dtype=operation.dtype,
        input_shapes=list(operation.input_shapes),
        leaves=list(operation.leaves),
        scalars={name: _plain(value) for name, value in operation.scalars},
        differentiable=operation.node_number is not None,
        facts=list(operation.facts),
        is_view=operation.info.is_view or operation.info.base in CUTS,
        tracked=list(operation.tracked),
        **noted,
    )


def _is_odd(operation: Operation) -> bool:
    """Tell whether somebody may ask where a layer was made: of a softmax over samples, or over one element."""
    if operation.info.base not in SOFTMAXES or not operation.shape:
        return False
    dimension = next((value for _, value in operation.scalars if isinstance(value, int)), -1)
    axis = dimension % len(operation.shape)
    return axis == 0 or operation.shape[axis] == 1


def _ancestors(root: Operation) -> list[Operation]:
    """Return an operation and those that fed it in this step's forward, nearest first, up to the limit.

    What made a parameter is left out: it belongs to no step.
    """
    found: dict[int, Operation] = {}
    queue = deque([root])
    while queue and len(found) < MOST_TOLD:
        operation = queue.popleft()
        if operation.order in found or operation.node is not None:
            continue
        found[operation.order] = operation
        held = operation.parameter_ids or [None] * len(operation.inputs)
        # An operation of an earlier step has let go of its inputs.
        for source, parameter in zip(operation.inputs, held, strict=False):
            if source is not None and parameter is None:
                queue.append(source)
        queue += [view for view in operation.through if view is not None]
    return list(found.values())


def _with_gradient(operations: list[Operation]) -> int:
    """Return how many of these a backward pass goes through; how a batch is made does not count."""
    return sum(operation.node_number is not None for operation in operations)


def _plain(value: Any) -> Real | bool | str | list[int] | None:
    if isinstance(value, (bool, type(None))):
        return value
    if isinstance(value, (int, float)):
        return (
            encode(float(value)) if not isinstance(value, int) or abs(value) < 2**53 else math.inf
        )
    if isinstance(value, (list, tuple)) and all(isinstance(item, int) for item in value):
        return list(value)
    return str(value)
