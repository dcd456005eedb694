"""Writes which results of an observed step the program throws away: the instruction after the call drops them."""

from __future__ import annotations

import dis
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from operator import attrgetter
from typing import Literal

from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.recorder import Recorder
from torchwhy.record.wiring import DroppedResult
from torchwhy.replay.graph.forward_graph import GraphWriter
from torchwhy.replay.microscope.call_sites import part_of
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.observing.current_observation import CurrentObservation

DROP = dis.opmap["POP_TOP"]
CACHE = dis.opmap.get(
    "CACHE", 0
)  # room for the interpreter behind an instruction, from Python 3.11 on
MOST_PLACES = 50  # places recorded of one observation

Operand = Literal["value", "gradient", "batch", "parameter"]
Places = dict[Site, list[Operation]]


class DroppedResults:
    """Finds them among the operations of a step that no loss depends on, each place once."""

    def __init__(
        self,
        microscope: Microscope,
        graph: GraphWriter,
        *,
        observation: CurrentObservation,
        recorder: Recorder,
    ) -> None:
        self._microscope = microscope
        self._graph = graph
        self._observation = observation
        self._recorder = recorder
        self._told: set[tuple[int, Site]] = set()
        self._passed = -1  # the last one of a row of operations that drop nothing

    def write(self) -> None:
        """Write the results whose operand the loss depends on, as far as the graphs of the step are known."""
        ran = self._microscope.forward_operations()
        detached = [one for one in self._microscope.notes.cuts if one.info.base == "detach"]
        # Most operations come twice, before the backward pass and before the update.
        new = ran[bisect_right(ran, self._passed, key=attrgetter("order")) :]
        found = _dropped([*new, *detached])
        if found:
            self._write_places(found, ran)
        elif ran:
            self._passed = ran[-1].order

    def _write_places(self, found: Places, ran: list[Operation]) -> None:
        reached = self._graph.reached
        used = {
            one.address
            for operation in ran
            if operation.order in reached
            for one in operation.data_operands
        }
        for site, operations in found.items():
            place = (self._observation.number, site)
            if place in self._told or len(self._told) >= MOST_PLACES:
                continue
            if not _is_pure(operations) or any(one.order in reached for one in operations):
                continue
            operand = _operand_of(operations, reached, used)
            if operand is not None:
                self._told.add(place)
                self._write(site, operations, *operand)

    def _write(
        self, site: Site, operations: list[Operation], operand: Operand, given: list[int]
    ) -> None:
        last = operations[-1]
        self._recorder.write(
            DroppedResult(
                step=last.step,
                operations=[one.info.base for one in operations],
                operand=operand,
                location=span_of(site),
                issuer=last.issuer,
                module=last.module,
                shape=list(last.shape),
                given=given,
                look=self._observation.number,
            )
        )


def _dropped(operations: list[Operation]) -> Places:
    """Return the operations of the program, or of torch in its name, by the place that drops their result."""
    found: Places = {}
    known: dict[
        tuple[int, int], bool
    ] = {}  # by the identity of the code: hashing it reads all of it
    for operation in operations:
        if operation.phase != "forward" or not operation.sites:
            continue
        site = operation.sites[0]
        key = (id(site.code), site.instruction)
        if key not in known:
            known[key] = is_dropped(site)
        if known[key] and all(part_of(one.code.co_filename) == "torch" for one in operation.within):
            found.setdefault(site, []).append(operation)
    return found


@lru_cache(maxsize=4096)
def is_dropped(site: Site) -> bool:
    """Tell whether the instruction after that of a site throws its result away."""
    instructions, place = site.code.co_code, site.instruction + 2
    while place < len(instructions) and instructions[place] == CACHE:
        place += 2
    return place < len(instructions) and instructions[place] == DROP


def _is_pure(operations: list[Operation]) -> bool:
    """Tell whether operations wrote only memory that they made themselves, as dropout does with its mask."""
    own = {operation.order for operation in operations}
    for operation in operations:
        if any(position for position, _ in operation.info.writes):
            return False
        writer = operation.inputs[0] if operation.inputs else None
        if operation.info.writes and (writer is None or writer.order not in own):
            return False
    return True


def _operand_of(
    operations: list[Operation], reached: set[int], used: set[int]
) -> tuple[Operand, list[int]] | None:
    """Return what the result was computed from, and its shape; None if no loss depends on it."""
    own = {operation.order for operation in operations}
    given = [one for operation in operations for one in _given(operation, own)]
    known = [
        (kind, shape)
        for source, parameter, address, shape in given
        if (kind := _kind(source, parameter, address, reached, used)) is not None
    ]
    values = [one for one in known if one[0] != "parameter"]
    if values:
        same = [one for one in values if one[1] == list(operations[-1].shape)]
        return (same or values)[0]
    only_parameters = bool(known) and len(known) == len(given)
    return known[0] if only_parameters and operations[0].issuer == "user" else None


def _given(
    operation: Operation, own: set[int]
) -> Iterator[tuple[Operation | None, int | None, int | None, list[int]]]:
    """Yield the operands from outside: what wrote each, its number if it is a parameter, its address, its shape."""
    addresses = {one.position: one.address for one in operation.data_operands}
    count = len(operation.inputs)
    parameters = [*operation.parameter_ids, *[None] * count]
    views = [*operation.through, *[None] * count]
    shapes = [*operation.input_shapes, *[operation.shape] * count]  # of `detach` none is noted
    for position, source in enumerate(operation.inputs):
        view = views[position]
        if (source is not None and source.order in own) or (view is not None and view.order in own):
            continue
        yield source or view, parameters[position], addresses.get(position), list(shapes[position])


def _kind(
    source: Operation | None,
    parameter: int | None,
    address: int | None,
    reached: set[int],
    used: set[int],
) -> Operand | None:
    if parameter is not None:
        return "parameter"
    if source is not None and source.node is not None:
        return "gradient"
    if source is not None and source.order in reached:
        return "value"
    return "batch" if source is None and address is not None and address in used else None
