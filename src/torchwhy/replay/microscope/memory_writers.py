"""Knows which operation wrote each piece of memory last, and which births its bad values descend from.

Also copies what an operation is about to overwrite.
"""

from __future__ import annotations

from typing import Any

import torch

from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import storage_key, weak_storage
from torchwhy.replay.microscope.operations import Operation, OperationInfo

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
        self.entries: dict[int, Entry] = {}

    def begin_anew(self) -> None:
        """Forget all but bad values: operations ran unseen, so the last writers are unknown."""
        self.entries = {key: e for key, e in self.entries.items() if e.births}

    def entry(self, tensor: torch.Tensor) -> Entry | None:
        """Return what is known of a tensor's memory."""
        key = storage_key(tensor)
        return None if key is None else self.entries.get(key)

    def writers_of(self, keys: list[int | None]) -> tuple[Operation | None, ...]:
        """Return the last writer of each piece of memory, by key."""
        entries = [None if key is None else self.entries.get(key) for key in keys]
        return tuple(None if entry is None else entry.last_operation for entry in entries)

    def entry_at(self, key: int) -> Entry | None:
        """Return what is known of the memory with this key."""
        return self.entries.get(key)

    def wrote(self, tensor: torch.Tensor, operation: Operation, births: frozenset[int]) -> None:
        """Note that `operation` wrote `tensor`; a write to a part of the memory adds its births to the present ones."""
        key = storage_key(tensor)
        if key is None:
            return
        if key in self.entries:
            self._write_again(self.entries[key], operation, births, covers=covers_memory(tensor))
        else:
            self._write_first(key, weak_storage(tensor), operation, births)

    def wrote_memory(self, weak: Any, operation: Operation) -> None:
        """Note that `operation` wrote finite values to all of a piece of memory, given by a weak reference."""
        key = int(weak.cdata)
        if key in self.entries:
            self._write_again(self.entries[key], operation, frozenset(), covers=True)
        else:
            self._write_first(key, weak, operation, frozenset())

    def _write_first(
        self, key: int, weak: Any, operation: Operation, births: frozenset[int]
    ) -> None:
        if len(self.entries) >= MOST_ENTRIES:
            self.forget_dead()
        self.entries[key] = Entry(weak, operation, births)

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
        twin = self.entries[key] = Entry(weak_storage(copy), entry.last_operation, entry.births)
        twin.unwritten = entry.unwritten

    def births_of(self, tensor: torch.Tensor) -> frozenset[int]:
        """Return the births a bad tensor descends from, empty if unknown."""
        entry = self.entry(tensor)
        return entry.births if entry is not None else frozenset()

    def living_births(self) -> frozenset[int]:
        """Return the births whose values the program still holds."""
        return frozenset().union(*(e.births for e in self.entries.values() if not e.weak.expired()))

    def forget_dead(self) -> None:
        """Forget entries whose memory is gone; if too many remain, all without births."""
        self.entries = {key: e for key, e in self.entries.items() if not e.weak.expired()}
        if len(self.entries) >= MOST_ENTRIES:
            self.entries = {key: e for key, e in self.entries.items() if e.births}


@unseen
def with_copies(
    memory_writers: MemoryWriters, info: OperationInfo, args: Any, kwargs: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments, with copies of those that the operation writes into."""
    arguments, keywords = list(args), dict(kwargs)
    for position, name in info.writes:
        if position < len(arguments):
            arguments[position] = _copy(memory_writers, arguments[position])
        elif name in keywords:
            keywords[name] = _copy(memory_writers, keywords[name])
    return tuple(arguments), keywords


def _copy(memory_writers: MemoryWriters, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        copy = value.detach().clone()
        memory_writers.copied(value, copy)
        return copy
    if isinstance(value, (list, tuple)):
        return [_copy(memory_writers, item) for item in value]
    return value
