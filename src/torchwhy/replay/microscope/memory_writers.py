"""Knows which operation wrote each piece of memory last, and which births its bad values descend from."""

from __future__ import annotations

from typing import Any

import torch

from torchwhy.observe.torch_features.tensor_parts import storage_key, weak_storage
from torchwhy.replay.microscope.operations import Operation

MOST_ENTRIES = 50_000  # pieces of memory remembered; beyond, those that are gone are forgotten


def covers_memory(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor covers all of its memory."""
    return tensor.numel() * tensor.element_size() >= tensor.untyped_storage().nbytes()


class Entry:
    """One live piece of memory."""

    __slots__ = ("births", "last_operation", "unwritten", "weak")

    def __init__(self, weak: Any, operation: Operation | None, births: frozenset[int]) -> None:
        self.weak = weak
        self.last_operation = operation
        self.births = births
        # The operation that allocated the memory without writing it, until all of it has been written.
        self.unwritten = operation if operation is not None and operation.info.is_empty else None


class MemoryWriters:
    """Keyed by memory, not by tensor object: views, detached aliases and moved gradients share an entry.

    The weak reference in each entry keeps the key from being reused while we hold it.
    """

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}

    def begin_anew(self) -> None:
        """Forget all but bad values: operations ran unseen, so the last writers are unknown."""
        self._entries = {key: e for key, e in self._entries.items() if e.births}

    def entry(self, tensor: torch.Tensor) -> Entry | None:
        """Return what is known of a tensor's memory."""
        key = storage_key(tensor)
        return None if key is None else self._entries.get(key)

    def writers_of(self, keys: list[int | None]) -> tuple[Operation | None, ...]:
        """Return the last writer of each piece of memory, by key."""
        entries = [None if key is None else self._entries.get(key) for key in keys]
        return tuple(None if entry is None else entry.last_operation for entry in entries)

    def entry_at(self, key: int) -> Entry | None:
        """Return what is known of the memory with this key."""
        return self._entries.get(key)

    def wrote(self, tensor: torch.Tensor, operation: Operation, births: frozenset[int]) -> None:
        """Note that `operation` wrote `tensor`; a write to a part of the memory adds its births to the present ones."""
        key = storage_key(tensor)
        if key is None:
            return
        if key in self._entries:
            self._write_again(self._entries[key], operation, births, covers=covers_memory(tensor))
        else:
            self._write_first(key, weak_storage(tensor), operation, births)

    def wrote_memory(self, weak: Any, operation: Operation) -> None:
        """Note that `operation` wrote finite values to all of a piece of memory, given by a weak reference."""
        key = int(weak.cdata)
        if key in self._entries:
            self._write_again(self._entries[key], operation, frozenset(), covers=True)
        else:
            self._write_first(key, weak, operation, frozenset())

    def _write_first(
        self, key: int, weak: Any, operation: Operation, births: frozenset[int]
    ) -> None:
        if len(self._entries) >= MOST_ENTRIES:
            self.forget_dead()
        self._entries[key] = Entry(weak, operation, births)

    def _write_again(
        self, entry: Entry, operation: Operation, births: frozenset[int], *, covers: bool
    ) -> None:
        entry.last_operation = operation
        entry.births = births if covers else entry.births | births
        if covers:
            entry.unwritten = operation if operation.info.is_empty else None

    def copied(self, tensor: torch.Tensor, copy: torch.Tensor) -> None:
        """Note that a copy of ours has the writers of `tensor`."""
        entry, key = self.entry(tensor), storage_key(copy)
        if entry is None or key is None:
            return
        twin = self._entries[key] = Entry(weak_storage(copy), entry.last_operation, entry.births)
        twin.unwritten = entry.unwritten

    def births_of(self, tensor: torch.Tensor) -> frozenset[int]:
        """Return the births a bad tensor descends from, empty if unknown."""
        entry = self.entry(tensor)
        return entry.births if entry is not None else frozenset()

    def living_births(self) -> frozenset[int]:
        """Return the births whose values the program still holds."""
        return frozenset().union(
            *(e.births for e in self._entries.values() if not e.weak.expired())
        )

    def forget_dead(self) -> None:
        """Forget entries whose memory is gone; if too many remain, all without births."""
        self._entries = {key: e for key, e in self._entries.items() if not e.weak.expired()}
        if len(self._entries) >= MOST_ENTRIES:
            self._entries = {key: e for key, e in self._entries.items() if e.births}
