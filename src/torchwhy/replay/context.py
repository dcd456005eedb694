"""What the book of births asks about the program around it: names, the current batch, later operations."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import torch

from torchwhy.observe.probes.batches import Batch, leaves_of
from torchwhy.observe.torch_compat import storage_key
from torchwhy.replay.expressions import span_in_module
from torchwhy.replay.operations import Operation
from torchwhy.replay.provenance import Origin
from torchwhy.replay.underflow import redo_in_float32

if TYPE_CHECKING:
    from torchwhy.observe.session import Session
    from torchwhy.replay.microscope import Microscope


class Context:
    """Answers from the session's names and batches and the microscope's ledger."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.microscope: Microscope
        self._made_from_arrays: dict[int, tuple[Any, Origin]] = {}

    def batches(self) -> list[Batch]:
        """Return the batches of the step in hand."""
        return list(self._session.batches.recent)

    def rows(self) -> int:
        """Return the batch size, 0 when no loader gave a batch."""
        for batch in reversed(self.batches()):
            for _, leaf in leaves_of(batch.data):
                if leaf.dim():
                    return int(leaf.shape[0])
        return 0

    def dataset_indices(self) -> list[int] | None:
        """Return the dataset indices of the newest batch, in batch order."""
        batches = self.batches()
        return batches[-1].indices if batches else None

    def operations_after(self, operation: Operation) -> list[Operation]:
        """Return what ran after an operation in this step."""
        return self.microscope.operations_after(operation)

    def name_of(self, parameter: Any) -> str | None:
        """Return what the program calls a parameter."""
        return self._session.names.parameters().get(id(parameter))

    def weight_filled_by(self, birth: int) -> Origin | None:
        """Return the parameter or buffer that a bad value was copied into as a whole, not computed into."""
        for key, (kind, name) in self._session.names.by_memory().items():
            entry = self.microscope.ledger.entry_at(key)
            if entry is None or entry.last_operation is None or birth not in entry.births:
                continue
            if entry.last_operation.info.base in ("copy_", "set_"):
                return Origin(kind, name)  # type: ignore[arg-type]
        return None

    def in_float32(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """Return a half-precision tensor as float32 would have had it, None for others."""
        return redo_in_float32(tensor, self.microscope.ledger)

    def remember_array(self, tensor: torch.Tensor, origin: Origin) -> None:
        """Remember where a tensor was made from an array."""
        key = storage_key(tensor)
        if key is not None:
            self._made_from_arrays[key] = (weakref.ref(tensor), origin)

    def origin_of(self, tensor: torch.Tensor) -> Origin:
        """Return where a tensor came from: batch, parameter, buffer, array or the operation that made it."""
        key = storage_key(tensor)
        if key is None:
            return Origin()
        entry = self.microscope.ledger.entry(tensor)
        known = self._session.names.by_memory().get(key)
        if known is not None:
            return Origin(known[0], known[1])  # type: ignore[arg-type]
        for batch in self.batches():
            for path, leaf in leaves_of(batch.data):
                if storage_key(leaf) == key:
                    place = span_in_module(batch.sites[0], None) if batch.sites else None
                    return Origin("batch", path, place, field=path)
        if key in self._made_from_arrays:
            return self._made_from_arrays[key][1]
        if entry is not None and entry.last_operation is not None:
            site = entry.last_operation.place()
            place = span_in_module(site, entry.last_operation.module) if site else None
            return Origin("operation", entry.last_operation.info.name, place)
        return Origin()
