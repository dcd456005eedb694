"""What the book of births asks about the program around it: names, the current batch, later operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from torchwhy.observe.probes.batches import Batch, leaves_of
from torchwhy.observe.torch_features.loader_parts import dataset_of
from torchwhy.observe.torch_features.tensor_parts import storage_key
from torchwhy.replay.microscope.expressions import span_in_module
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.nonfinite.provenance import Origin
from torchwhy.replay.nonfinite.underflow import redo_in_float32

if TYPE_CHECKING:
    from torchwhy.observe.session import Session
    from torchwhy.replay.microscope.dispatch_mode import Microscope


class LiveContext:
    """Answers from the session's names and batches and the microscope's ledger."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.microscope: Microscope
        self.repeated_batch: Callable[[], Batch | None] = lambda: None  # again, in a repeated step

    def batches(self) -> list[Batch]:
        """Return the batches of the step in hand."""
        return list(self._session.batches.recent)

    def in_hand(self) -> Batch | None:
        """Return the batch that the program works on: the one it got last."""
        repeated = self.repeated_batch()
        if repeated is not None:
            return repeated
        batches = self.batches()
        return batches[-1] if batches else None

    def rows(self) -> int:
        """Return the batch size, 0 when no loader gave a batch."""
        batches = self.batches()
        current = self.in_hand()
        for batch in (*([current] if current is not None else []), *reversed(batches)):
            for _, leaf in leaves_of(batch.data):
                if leaf.dim():
                    return int(leaf.shape[0])
        return 0

    def dataset_indices(self, tensor: torch.Tensor | None = None) -> list[int] | None:
        """Return the dataset indices, in batch order, of the batch a tensor belongs to, or of the one in hand."""
        batch = None if tensor is None else self._batch_of(storage_key(tensor))
        if batch is None and not self._draws_from_several():
            batch = self.in_hand()
        return batch.indices if batch is not None else None

    def _draws_from_several(self) -> bool:
        """Tell whether the step has batches of several datasets: which one a value belongs to is not known then."""
        batches = self.batches()
        if not batches or not batches[-1].trains:
            return False  # of evaluation only the current batch is kept
        iterators = [batch.iterator() for batch in batches]
        datasets = {id(dataset_of(one)) for one in iterators if one is not None}
        return len(datasets) > 1

    def _age_of(self, batch: Batch) -> int | None:
        """Return for how many steps, at most, the dataset of a batch exists; None if it is as old as training."""
        batches = self._session.batches
        before = batches.drawn_before(batch)
        return batches.serial - before if before else None

    def _batch_of(self, key: int | None) -> Batch | None:
        for batch in self.batches() if key is not None else []:
            if any(storage_key(leaf) == key for _, leaf in leaves_of(batch.data)):
                return batch
        return None

    def operations_after(self, operation: Operation) -> list[Operation]:
        """Return what ran after an operation in this step."""
        return self.microscope.operations_after(operation)

    def name_of(self, parameter: Any) -> str | None:
        """Return what the program calls a parameter."""
        return self._session.names.parameters().get(id(parameter))

    def weight_filled_by(self, birth: int) -> Origin | None:
        """Return the parameter or buffer that a bad value was copied into as a whole, not computed into."""
        for key, (kind, name) in self._session.names.by_memory().items():
            entry = self.microscope.memory_writers.entry_at(key)
            if entry is None or entry.last_operation is None or birth not in entry.births:
                continue
            if entry.last_operation.info.base in ("copy_", "set_"):
                return Origin(kind, name)  # type: ignore[arg-type]
        return None

    def in_float32(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """Return a half-precision tensor as float32 would have had it, None for others."""
        return redo_in_float32(tensor, self.microscope.memory_writers)

    def origin_of(self, tensor: torch.Tensor) -> Origin:
        """Return where a tensor came from: batch, parameter, buffer or the operation that made it."""
        key = storage_key(tensor)
        if key is None:
            return Origin()
        entry = self.microscope.memory_writers.entry(tensor)
        known = self._session.names.by_memory().get(key)
        if known is not None:
            return Origin(known[0], known[1])  # type: ignore[arg-type]
        for batch in self.batches():
            for path, leaf in leaves_of(batch.data):
                if storage_key(leaf) == key:
                    place = span_in_module(batch.sites[0], None) if batch.sites else None
                    return Origin("batch", path, place, field=path, steps=self._age_of(batch))
        if entry is not None and entry.last_operation is not None:
            site = entry.last_operation.place()
            place = span_in_module(site, entry.last_operation.module) if site else None
            return Origin("operation", entry.last_operation.info.name, place)
        return Origin()
