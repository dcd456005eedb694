"""Notes which parts of the loaders' batches the program reads: by operations, or as numbers and text."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import torch

from torchwhy.observe.probes.batches import BatchKeeper
from torchwhy.observe.torch_features.tensor_parts import storage_key
from torchwhy.plain_data import dataclass
from torchwhy.replay.microscope.operations import OperationInfo

MOST_PARTS = 16  # of a batch
MOST_KEPT = 4  # batches whose content is kept
LARGEST_KEPT = 2**18  # elements of a part that is kept
FOLLOWED = 8  # newest batches: some programs draw ahead
COPIES = {"_to_copy", "clone", "contiguous"}  # A copy is no use yet: what counts is who reads it.
HANDED_OVER = {"detach"}  # A view, by which NumPy gets the values.
READ_AS = ("tolist", "__repr__", "__format__")  # without an operation that torch shows


@dataclass
class PartsOfBatch:
    """One batch: its parts by the memory that holds them, and those that were read."""

    tensors: dict[str, torch.Tensor]
    paths: dict[int, str]
    read: set[str] = field(default_factory=set)
    copies: list[torch.Tensor] = field(default_factory=list)  # so that no memory is used twice


class BatchReads:
    """Follows the newest batches that were drawn for training; `given` and `read` count batches by part."""

    def __init__(self, batches: BatchKeeper) -> None:
        self._batches = batches
        self._known = 0
        self._newest: deque[PartsOfBatch] = deque(maxlen=FOLLOWED)
        self.given: dict[str, int] = {}
        self.read: dict[str, int] = {}
        self.kept: list[dict[str, torch.Tensor]] = []

    def install(
        self, replace_attribute: Callable[[Any, str, Any], Any], guarded: Callable[..., Any]
    ) -> None:
        """Put stand-ins on the methods that read a tensor without an operation."""
        note = guarded(self._read_at_once)
        for name in READ_AS:
            original = getattr(torch.Tensor, name)
            replace_attribute(torch.Tensor, name, _noting(original, note))

    def operation(self, info: OperationInfo, given: Sequence[torch.Tensor], result: Any) -> None:
        """Note what an operation reads; views and copies stand for what they were made from."""
        if self._known != self._batches.drawn:
            self._learn()
        if not self._newest or (info.is_view and info.base not in HANDED_OVER):
            return
        for tensor in given:
            key = storage_key(tensor)
            for batch in self._newest:
                path = batch.paths.get(key) if key is not None else None
                if path is None:
                    continue
                if info.base in COPIES and isinstance(result, torch.Tensor):
                    self._follow(batch, path, result)
                else:
                    self._note(batch, path)

    def _read_at_once(self, tensor: torch.Tensor) -> None:
        key = storage_key(tensor)
        for batch in self._newest:
            if key is not None and key in batch.paths:
                self._note(batch, batch.paths[key])

    def _note(self, batch: PartsOfBatch, path: str) -> None:
        if path not in batch.read:
            batch.read.add(path)
            self.read[path] = self.read.get(path, 0) + 1

    def _follow(self, batch: PartsOfBatch, path: str, copy: torch.Tensor) -> None:
        key = storage_key(copy)
        if key is not None:
            batch.paths[key] = path
            batch.copies.append(copy)

    def _learn(self) -> None:
        """Take over the newest batch."""
        self._known = self._batches.drawn
        recent = self._batches.recent
        if not recent or not recent[-1].trains:
            return
        tensors = dict(list(recent[-1].leaves())[:MOST_PARTS])
        keys = {path: storage_key(one) for path, one in tensors.items()}
        paths = {key: path for path, key in keys.items() if key is not None}
        if len(paths) < len(tensors):
            return  # parts that share their memory
        self._newest.append(PartsOfBatch(tensors, paths))
        for path in tensors:
            self.given[path] = self.given.get(path, 0) + 1
        if len(self.kept) < MOST_KEPT:
            self.kept.append(
                {
                    p: one.detach().clone()
                    for p, one in tensors.items()
                    if one.numel() <= LARGEST_KEPT
                }
            )

    def unread(self, *, fewest: int) -> list[str]:
        """Return the parts that no batch of many had read, while others were."""
        if not any(count >= fewest for count in self.read.values()):
            return []
        return [p for p, n in self.given.items() if n >= fewest and not self.read.get(p)]


def _noting(original: Callable[..., Any], note: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def reads(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        note(self)
        return original(self, *args, **kwargs)

    return reads
