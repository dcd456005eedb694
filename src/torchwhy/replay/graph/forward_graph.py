"""Writes the forward graph of an observed step: the operations that each loss depends on."""

from __future__ import annotations

import math
from collections import deque
from functools import partial
from typing import Any

import torch

from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.program.names import Names
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.tensor_parts import local_part
from torchwhy.record.events import LeftOut
from torchwhy.record.learning import GraphOperation, LossRoot
from torchwhy.record.numbers import Real, encode
from torchwhy.replay.graph.unit_activity import ActivityWriter
from torchwhy.replay.microscope.expressions import span_in_module
from torchwhy.replay.microscope.forward_notes import CUTS
from torchwhy.replay.microscope.memory_writers import MemoryWriters
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.observing.current_observation import CurrentObservation

SOFTMAXES = {"_softmax", "_log_softmax"}
MOST_TOLD = 6000  # operations recorded of one observation, those nearest to the loss


class GraphWriter:
    """Writes the ancestors of each loss once, in the order they ran."""

    def __init__(
        self,
        memory_writers: MemoryWriters,
        activity: ActivityWriter,
        *,
        observation: CurrentObservation,
        names: Names,
        recorder: Recorder,
        state: TrainingState,
    ) -> None:
        self._memory_writers = memory_writers
        self._activity = activity
        self._observation = observation
        self._names = names
        self._recorder = recorder
        self._state = state
        self._told: set[int] = set()
        # Operations that a loss of the observed steps depends on, through the memory they wrote.
        self.reached: set[int] = set()
        self._reached_now: set[int] = set()  # The same for losses since the last update.

    @property
    def reached_last(self) -> set[int]:
        """Return the operations that the newest losses depend on: those since the last update, else all.

        The loss of a generator comes after the update of its discriminator, whose loss is not the generator's.
        """
        return self._reached_now or self.reached

    def begin_anew(self) -> None:
        """Forget the graph that was written: another observation begins."""
        self._told.clear()
        self.reached.clear()
        self._reached_now.clear()

    def end_step(self) -> None:
        """Note that an optimizer has made its update: later losses are for later updates."""
        self._reached_now.clear()

    def _producer(self, loss: torch.Tensor) -> Operation | None:
        entry = self._memory_writers.entry(loss)
        return entry.last_operation if entry is not None else None

    def write_ancestors(self, losses: list[torch.Tensor], *, accumulates: bool = True) -> None:
        """Write the operations that these losses depend on, and the losses themselves."""
        for loss in losses:
            producer = self._producer(loss)
            found: list[Operation] = []
            if producer is not None:
                found = sorted(_ancestors(producer), key=lambda o: o.order)
                self.reached.update(operation.order for operation in found)
                self._reached_now.update(operation.order for operation in found)
                self._note_all(found)
            site = producer.place() if producer is not None else None
            self._recorder.write(
                LossRoot(
                    step=self._state.step,
                    order=producer.order if producer is not None else None,
                    value=encode(float(local_part(loss).item())) if not loss.is_complex() else 0.0,
                    location=span_of(site) if site else None,
                    accumulates=accumulates,
                    operations=_with_gradient(found),
                    look=self._observation.number,
                )
            )

    def write_places(self, losses: list[torch.Tensor]) -> None:
        """Write where the losses of a later step were made, without their graph."""
        for loss in losses:
            producer = self._producer(loss)
            site = producer.place() if producer is not None else None
            if producer is not None and site is not None and not loss.is_complex():
                self._recorder.write(
                    LossRoot(
                        step=self._state.step,
                        order=None,
                        value=encode(float(local_part(loss).item())),
                        location=span_of(site),
                        accumulates=False,
                        operations=_with_gradient(_ancestors(producer)),
                    )
                )

    def _note_all(self, found: list[Operation]) -> None:
        """Note the operations that are new, up to the limit; beyond, say that some are left out."""
        names = self._names.parameters()
        new = [operation for operation in found if operation.order not in self._told]
        room = MOST_TOLD - len(self._told)
        for operation in new[max(len(new) - room, 0) :]:
            self._note(operation, names)
        if len(self._told) >= MOST_TOLD:
            self._recorder.write(
                LeftOut(
                    step=self._state.step,
                    what="operations",
                    kept=MOST_TOLD,
                    look=self._observation.number,
                )
            )

    def _note(self, operation: Operation, names: dict[int, str]) -> None:
        """Take what an operation releases with the step; the event is written later."""
        self._told.add(operation.order)
        self._recorder.postpone(
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
                made_at=self._activity.made_at(operation.module) if _is_odd(operation) else None,
                look=self._observation.number,
            )
        )


def _event(operation: Operation, site: Site | None, **noted: Any) -> GraphOperation:
    return GraphOperation(
        order=operation.order,
        op=operation.info.name,
        step=operation.step,
        location=span_in_module(site, operation.module) if site else None,
        issuer=operation.issuer,
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
    """Tell whether a finding may need the constructor of a layer: a softmax over samples, or over one element."""
    if operation.info.base not in SOFTMAXES or not operation.shape:
        return False
    dimension = next((value for _, value in operation.scalars if isinstance(value, int)), -1)
    axis = dimension % len(operation.shape)
    return axis == 0 or operation.shape[axis] == 1


def _ancestors(root: Operation) -> list[Operation]:
    """Return an operation and those that fed it in this step's forward, nearest first, up to the limit.

    The operations that made a parameter belong to no step and are left out.
    """
    found: dict[int, Operation] = {}
    queue = deque([root])
    while queue and len(found) < MOST_TOLD:
        operation = queue.popleft()
        if operation.order in found or operation.node is not None:
            continue
        found[operation.order] = operation
        held = operation.parameter_ids or [None] * len(operation.inputs)
        # An operation of an earlier step has released its inputs.
        for source, parameter in zip(operation.inputs, held, strict=False):
            if source is not None and parameter is None:
                queue.append(source)
        queue += [view for view in operation.through if view is not None]
    return list(found.values())


def _with_gradient(operations: list[Operation]) -> int:
    """Return how many of these a backward pass goes through; making the batch does not count."""
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
