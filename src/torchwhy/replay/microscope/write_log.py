"""Logs in-place writes, and which operations save memory for their gradient, while the microscope is on."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from torchwhy.observe.program.frames import Site
from torchwhy.observe.torch_features.tensor_parts import storage_key
from torchwhy.replay.microscope.operations import Operation

MOST_RECORDS = 20_000  # operations logged over all observed steps; later ones are ignored


class Record(NamedTuple):
    """One operation without its tensors: its place, and the keys of the memory it read or wrote."""

    order: int
    name: str
    phase: str
    site: Site | None
    module: str | None
    memory: frozenset[int]


class WriteLog:
    """Kept across steps: the backward pass of a second optimizer may need what the first one overwrote."""

    def __init__(self) -> None:
        self._by_node_number: dict[int, tuple[Operation, list[int | None]]] = {}
        self.writes: list[Record] = []

    def tables(self) -> dict[str, Any]:
        """Return where memory is noted, for the accelerator."""
        return {"memory_of_node": self._by_node_number, "writes": self.writes}

    def ran(
        self, operation: Operation, touched: list[torch.Tensor], written: list[torch.Tensor]
    ) -> None:
        """Log an operation that recorded an autograd node, or wrote memory in place."""
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

    def forget(self) -> None:
        """Release what was logged."""
        self._by_node_number.clear()
        self.writes.clear()

    def needed_by(self, node_number: int) -> Record | None:
        """Return the operation that recorded the node with this number."""
        known = self._by_node_number.get(node_number)
        return None if known is None else _record(*known)

    def writer_after(self, needed: Record, *, of_weight: bool = False) -> Record | None:
        """Return the first operation that overwrote what another one had saved.

        Of a weight, that is an update; other writes go to a layer's scratch memory.
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
