"""Who wrote which memory in place, and which operation keeps it for its gradient; filled while the microscope is on."""

from __future__ import annotations

from typing import NamedTuple

import torch

from torchwhy.observe.program.frames import Site
from torchwhy.observe.torch_features.tensor_parts import storage_key
from torchwhy.replay.microscope.operations import Operation

MOST_RECORDS = 20_000  # operations remembered over all watched steps; later ones are not taken up


class Record(NamedTuple):
    """One operation without its tensors: its place, and the keys of the memory it got, gave or changed."""

    order: int
    name: str
    phase: str
    site: Site | None
    module: str | None
    memory: frozenset[int]


class WriteLog:
    """Outlives the steps of the microscope: a second optimizer may trip over what the first one wrote."""

    def __init__(self) -> None:
        self._by_node_number: dict[int, tuple[Operation, list[int | None]]] = {}
        self.writes: list[Record] = []

    def ran(
        self, operation: Operation, touched: list[torch.Tensor], written: list[torch.Tensor]
    ) -> None:
        """Take note of an operation that recorded a gradient node, or changed memory in place."""
        if (
            len(self._by_node_number) + len(self.writes) >= MOST_RECORDS
            or operation.node is not None
        ):
            return
        if operation.node_number is not None:
            keys = [storage_key(tensor) for tensor in touched]
            self._by_node_number[operation.node_number] = (operation, keys)
        if written and not operation.info.is_empty:
            self.writes.append(_record(operation, [storage_key(tensor) for tensor in written]))

    def needed_by(self, node_number: int) -> Record | None:
        """Return the operation that recorded the node with this number."""
        known = self._by_node_number.get(node_number)
        return None if known is None else _record(*known)

    def writer_after(self, needed: Record, *, of_weight: bool = False) -> Record | None:
        """Return the first operation that changed what another one had kept, after it had kept it.

        A weight is changed by an update; what a layer writes meanwhile is its own scratch memory.
        """
        later = [w for w in self.writes if w.order > needed.order and w.memory & needed.memory]
        updates = [write for write in later if write.phase == "update"] if of_weight else []
        return next(iter(updates or later), None)


def _record(operation: Operation, memory: list[int | None]) -> Record:
    keys = frozenset(key for key in memory if key is not None)
    return Record(
        operation.order,
        operation.info.base,
        operation.phase,
        operation.place(),
        operation.module,
        keys,
    )
