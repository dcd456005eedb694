"""Batches that were released: their indices, and their tensors as long as the program holds these itself."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from torchwhy.observe.program.frames import Site

MOST_LEAVES = 16  # tensors of one batch that are remembered


class ReleasedBatch:
    """Keeps nothing of the batch alive but the indices of its samples."""

    def __init__(
        self,
        serial: int,
        iterator: weakref.ref[Any],
        drawn_indices: Any,
        leaves: list[tuple[str, weakref.ref[torch.Tensor]]],
        sites: tuple[Site, ...] = (),
    ) -> None:
        self.serial = serial
        self.sites = sites
        self.iterator = iterator
        self._drawn_indices = drawn_indices
        self._leaves = leaves

    @property
    def indices(self) -> list[int] | None:
        """Return the indices of its samples in the dataset, if the sampler yields numbers."""
        return as_indices(self._drawn_indices)

    def leaves(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield the tensors that still live, with their path in the batch."""
        for path, reference in self._leaves:
            leaf = reference()
            if leaf is not None:
                yield path, leaf


def as_indices(indices: Any) -> list[int] | None:
    """Return what a sampler yielded as a list of numbers; None if it is something else."""
    if isinstance(indices, int):
        return [indices]
    if isinstance(indices, (list, tuple)) and all(isinstance(i, int) for i in indices):
        return list(indices)
    return None


def tensors_of(
    data: Any, path: str = "batch", depth: int = 4
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors of a batch with their path in it, also those that plain objects hold."""
    if isinstance(data, torch.Tensor):
        yield path, data
        return
    if not depth:
        return
    parts: list[tuple[str, Any]] = []
    if isinstance(data, Mapping):
        parts = [(f"{path}[{key!r}]", value) for key, value in list(data.items())[:MOST_LEAVES]]
    elif isinstance(data, tuple) and hasattr(data, "_fields"):
        parts = [(f"{path}.{name}", getattr(data, name)) for name in data._fields]
    elif isinstance(data, (list, tuple)):
        parts = [(f"{path}[{place}]", value) for place, value in enumerate(data[:MOST_LEAVES])]
    elif not isinstance(data, type) and isinstance(getattr(data, "__dict__", None), dict):
        parts = [
            (f"{path}.{name}", value) for name, value in list(vars(data).items())[:MOST_LEAVES]
        ]
    for inner, value in parts:
        yield from tensors_of(value, inner, depth - 1)
