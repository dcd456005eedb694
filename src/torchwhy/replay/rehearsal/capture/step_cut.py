"""Logged operations → one captured step: what the loss descends from, and the roles of its slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from torchwhy.observe.program.frames import Site
from torchwhy.replay.microscope.operations import info_of
from torchwhy.replay.rehearsal.capture.captured_program import (
    CapturedOperation,
    CapturedStep,
    Ref,
    Role,
    Slot,
    exchanged,
)
from torchwhy.replay.rehearsal.capture.operation_log import CannotCapture, OperationLog


class Memories:
    """Which values share memory: views with what they are views of."""

    def __init__(self, operations: Sequence[CapturedOperation]) -> None:
        self._parent: dict[int, int] = {}
        for operation in operations:
            if not _is_view(operation.function):
                continue
            for ref in operation.refs:
                for result in operation.results if ref.kind == "value" else ():
                    if result is not None:
                        self._parent[self.of(result)] = self.of(ref.number)

    def of(self, number: int) -> int:
        """Return the number that stands for the memory of a value."""
        while number in self._parent and self._parent[number] != number:
            number = self._parent[number]
        return number


def _is_view(function: Any) -> bool:
    return function is torch.as_strided or info_of(function).is_view


def needed_for(
    operations: Sequence[CapturedOperation], roots: Sequence[int]
) -> list[CapturedOperation]:
    """Return the operations that the roots descend from, in order."""
    memories = Memories(operations)
    needed = set(roots)
    touched = {memories.of(number) for number in roots}
    kept = []
    for operation in reversed(operations):
        makes = any(number in needed for number in operation.results)
        if makes or any(memories.of(number) in touched for number in operation.writes):
            kept.append(operation)
            values = [ref.number for ref in operation.refs if ref.kind == "value"]
            needed.update(values)
            touched.update(map(memories.of, values))
    made = {number for operation in kept for number in operation.results}
    if not needed <= made:
        raise CannotCapture("its graph reaches back beyond the last two backward passes")
    return kept[::-1]


class Uses:
    """Tells data that goes into the model from data that the model's output is compared with.

    After a target enters, no parameter is met on the way to the loss. What a penalty of the weights adds to the loss is
    a single number, and does not count.
    """

    def __init__(self, operations: Sequence[CapturedOperation]) -> None:
        self._of_weights: set[int] = set()
        for operation in operations:
            refs = operation.refs
            if refs and all(self._is_weight(ref) for ref in refs):
                self._of_weights.update(n for n in operation.results if n is not None)
        self._before_weights: set[int] = set()
        for operation in reversed(operations):
            if self._leads_to_weights(operation):
                self._before_weights.update(
                    ref.number for ref in operation.refs if ref.kind == "value"
                )

    def _is_weight(self, ref: Ref) -> bool:
        return ref.kind == "parameter" or (ref.kind == "value" and ref.number in self._of_weights)

    def _leads_to_weights(self, operation: CapturedOperation) -> bool:
        is_single = all(
            shape is None or not any(n > 1 for n in shape) for shape in operation.shapes
        )
        meets = any(self._is_weight(ref) for ref in operation.refs)
        made = [*operation.results, *operation.writes]
        return (meets and not is_single) or any(number in self._before_weights for number in made)

    def role_in(self, operation: CapturedOperation) -> Role:
        """Return the role of the slots that an operation uses."""
        if operation.function is torch.clone:
            return "buffer"  # memory that the program writes
        return "input" if self._leads_to_weights(operation) else "target"

    def computed(self, operation: CapturedOperation) -> list[int]:
        """Return the values among what an operation reads that depend on data."""
        refs = [ref for ref in operation.refs if ref.kind == "value"]
        return [ref.number for ref in refs if not self._is_weight(ref)]


class Placed:
    """The slots and parameters of one step: a slot for each part that data plays in it."""

    def __init__(self, log: OperationLog) -> None:
        self._log = log
        self._places: dict[tuple[int, Role], int] = {}
        self.slots: list[Slot] = []
        self.parameters: set[int] = set()

    def in_operation(self, operation: CapturedOperation, role: Role) -> CapturedOperation:
        """Return an operation with references to the slots of its step."""

        def place(value: Any) -> Any:
            if isinstance(value, Ref) and value.kind == "parameter":
                self.parameters.add(value.number)
            if not isinstance(value, Ref) or value.kind != "slot":
                return value
            logged = self._log.slots[value.number]
            if logged.is_missing:
                raise CannotCapture("its graph reaches back beyond the last two backward passes")
            key = (value.number, role)
            if key not in self._places:
                self._places[key] = len(self.slots)
                site = operation.site or logged.site
                self.slots.append(Slot(logged.tensor, role, site=site))
            return Ref("slot", self._places[key], value.detached)

        args, kwargs = exchanged((operation.args, operation.kwargs), place)
        return replace(operation, args=args, kwargs=kwargs)


def cut_step(
    log: OperationLog, losses: Sequence[torch.Tensor], *, number: int, site: Site | None
) -> CapturedStep:
    """Return the step whose backward pass begins at these losses."""
    refs = [log.find(loss) for loss in losses]
    roots = [ref.number for ref in refs if ref is not None and ref.kind == "value"]
    if not losses or len(roots) < len(losses):
        raise CannotCapture(_failure(log) or "its loss was not seen to depend on a parameter")
    operations = needed_for(log.operations(), roots)
    uses, placed = Uses(operations), Placed(log)
    outputs: list[int] = []
    cut = []
    for operation in operations:
        role = uses.role_in(operation)
        if role == "target" and any(ref.kind == "slot" for ref in operation.refs):
            outputs += uses.computed(operation)
        cut.append(placed.in_operation(operation, role))
    if not placed.parameters:
        raise CannotCapture("no parameter feeds its loss")
    return CapturedStep(
        number,
        tuple(cut),
        tuple(placed.slots),
        tuple(sorted(placed.parameters)),
        tuple(roots),
        float(sum(loss.detach().sum() for loss in losses)),
        site=site,
        outputs=tuple(dict.fromkeys(outputs)),
    )


def _failure(log: OperationLog) -> str | None:
    return next((one.failure for one in reversed(log.segments) if one.failure is not None), None)
