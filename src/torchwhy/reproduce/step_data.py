"""The data of the new program: weights, batch and random state in one file of plain tensors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchwhy.plain_data import dataclass
from torchwhy.record.kept.tensor_file import StoredTensor, read_tensors

MOST_BYTES = 100 * 2**20  # of a kept batch with its header


@dataclass(frozen=True)
class KeptData:
    """A batch and variables as they were kept; `structures` describe the batches."""

    tensors: dict[str, StoredTensor]
    structures: list[Any]
    variables: dict[str, str]

    @property
    def samples(self) -> int:
        """Return how many samples the batch has: the size that its tensors share; 0 if they share none."""
        shapes = [self.tensors[name].shape for name in self._of_batch]
        sizes = {shape[0] for shape in shapes if shape}
        return sizes.pop() if len(sizes) == 1 else 0

    @property
    def _of_batch(self) -> list[str]:
        return [name for one in self.structures for name in _names_in(one)]

    def with_rows(self, rows: Sequence[int]) -> KeptData:
        """Return the same with some samples of the batch alone."""
        of_batch = set(self._of_batch)
        tensors = {
            name: tensor.rows(rows) if name in of_batch and tensor.shape else tensor
            for name, tensor in self.tensors.items()
        }
        return KeptData(tensors, self.structures, self.variables)


def read_data(path: Path | None) -> KeptData:
    """Return the kept batch of a run; nothing if none was kept."""
    if path is None:
        return KeptData({}, [], {})
    tensors, metadata = read_tensors(path, MOST_BYTES)
    return KeptData(
        tensors,
        json.loads(metadata.get("batches", "[]")),
        json.loads(metadata.get("variables", "{}")),
    )


def write_data(
    data: KeptData, state_file: Path, target: Path, *, parts: Sequence[str], names: dict[str, str]
) -> None:
    """Write the entries of the state that the program loads, the batch, and the tensors in variables by these names."""
    import torch

    state = torch.load(state_file, weights_only=True, map_location="cpu")
    content: dict[str, Any] = {
        "parts": {name: state["parts"][name] for name in parts},
        "random": state["random"]["torch"],
    }
    if data.structures:
        content["batch"] = _built(data.structures[0], data.tensors)
    kept = {name: data.variables[key] for name, key in names.items()}
    if kept:
        content["variables"] = {name: _tensor(data.tensors[key]) for name, key in kept.items()}
    torch.save(content, target)


def _names_in(structure: Any) -> list[str]:
    (kind, value), *_ = structure.items()
    if kind == "tensor":
        return [value]
    if kind in ("list", "tuple"):
        return [name for one in value for name in _names_in(one)]
    return [name for _, one in value for name in _names_in(one)] if kind == "dict" else []


def _built(structure: Any, tensors: dict[str, StoredTensor]) -> Any:
    (kind, value), *_ = structure.items()
    if kind == "tensor":
        return _tensor(tensors[value])
    if kind == "dict":
        return {key: _built(one, tensors) for key, one in value}
    if kind in ("list", "tuple"):
        parts = [_built(one, tensors) for one in value]
        return parts if kind == "list" else tuple(parts)
    return value


def _tensor(stored: StoredTensor) -> Any:
    import torch

    dtype = getattr(torch, stored.dtype)
    if not stored.content:
        return torch.empty(stored.shape, dtype=dtype)
    return torch.frombuffer(bytearray(stored.content), dtype=dtype).reshape(stored.shape)
