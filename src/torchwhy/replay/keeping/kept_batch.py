"""Writes the batches of the failing step, and small tensors in the program's variables, as a file of tensors.

The structure of a batch (lists, tuples, dictionaries, plain values) is in the metadata of the file as JSON.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from torchwhy.observe.probes.batches import Batch
from torchwhy.observe.torch_features.tensor_parts import has_values
from torchwhy.record.kept.kept_failure import BatchKept
from torchwhy.record.kept.tensor_file import TYPES, StoredTensor, write_tensors

BATCH_FILE = "batch.safetensors"
MOST_BYTES = 64 * 2**20
SMALL_BYTES = 2**20  # of a tensor in a variable, if the data come from a loader
MOST_ITEMS = 4096  # of one container in a batch
PLAIN = (bool, int, float, str, type(None))


class UnkeptError(Exception):
    """A batch that cannot be written, and why."""


class BatchWriter:
    """Collects tensors under names until the file is full."""

    def __init__(self) -> None:
        self._tensors: dict[str, torch.Tensor] = {}
        self._names: dict[tuple[Any, ...], str] = {}
        self.size = 0

    def add(self, name: str, tensor: torch.Tensor) -> str:
        """Add a tensor; return the name under which it is in the file."""
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or not has_values(tensor):
            raise UnkeptError(f"it holds a {type(tensor).__name__} without plain values")
        if tensor.layout is not torch.strided or _type_of(tensor) not in TYPES:
            raise UnkeptError(f"it holds a tensor of type {_type_of(tensor)}")
        key = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        if key in self._names and tensor.numel():
            return self._names[key]
        self._names[key] = name
        self._tensors[name] = tensor
        self.size += tensor.numel() * tensor.element_size()
        return name

    def structure(self, data: Any, name: str) -> Any:
        """Add the tensors of a batch; return its structure as data for JSON."""
        if isinstance(data, torch.Tensor):
            return {"tensor": self.add(name, data)}
        if type(data) in PLAIN:
            return {"value": data}
        if isinstance(data, Mapping) and len(data) <= MOST_ITEMS:
            items = [
                [key, self.structure(value, f"{name}.{key}")]
                for key, value in data.items()
                if isinstance(key, (str, int))
            ]
            if len(items) == len(data):
                return {"dict": items}
        elif type(data) in (list, tuple) and len(data) <= MOST_ITEMS:
            parts = [self.structure(one, f"{name}.{place}") for place, one in enumerate(data)]
            return {type(data).__name__: parts}
        raise UnkeptError(f"it holds an object of class {type(data).__name__}")

    def write(self, path: Path, metadata: dict[str, str]) -> None:
        """Write the file."""
        stored = ((name, _stored(tensor)) for name, tensor in self._tensors.items())
        write_tensors(path, stored, metadata)


def keep_batches(
    batches: list[Batch],
    variables: dict[int, torch.Tensor],
    directory: Path,
    *,
    step: int,
    rank: int,
) -> BatchKept:
    """Write the batches of a step and tensors in variables of the program; return what was done."""
    if not all(batch.untouched() for batch in batches):
        return BatchKept(step=step, unkept="no-state", detail="the program has changed it in place")
    writer = BatchWriter()
    try:
        structures = [
            writer.structure(batch.data, f"batch.{place}") for place, batch in enumerate(batches)
        ]
    except UnkeptError as problem:
        return BatchKept(step=step, unkept="no-plain-tensors", detail=str(problem))
    if writer.size > MOST_BYTES:
        return BatchKept(step=step, size=writer.size, unkept="too-large")
    held = _add_variables(writer, variables)
    if not batches and not held:
        return BatchKept(step=step, unkept="no-state", detail="no loader gave one")
    rows = [batch.indices or [] for batch in batches]
    metadata = {
        "step": str(step),
        "batches": json.dumps(structures),
        "rows": json.dumps(rows),
        "variables": json.dumps(held),
    }
    name = BATCH_FILE if not rank else f"rank{rank}-{BATCH_FILE}"
    try:
        writer.write(directory / name, metadata)
    except OSError as problem:
        (directory / name).unlink(missing_ok=True)
        return BatchKept(step=step, unkept="not-written", detail=str(problem))
    return BatchKept(
        step=step,
        file=name,
        size=writer.size,
        batches=len(batches),
        rows=rows if any(rows) else [],
        tensors=list(held),
    )


def chosen_tensors(
    tensors: dict[int, torch.Tensor], *, has_batches: bool
) -> dict[int, torch.Tensor]:
    """Return the tensors of variables that are data or parameters; of data beside a loader's batches, small ones."""
    most = SMALL_BYTES if has_batches else MOST_BYTES
    return {
        number: one
        for number, one in tensors.items()
        if one.is_leaf
        and one.numel() * one.element_size() <= (MOST_BYTES if one.requires_grad else most)
    }


def _add_variables(writer: BatchWriter, variables: dict[int, torch.Tensor]) -> dict[int, str]:
    """Add the tensors that fit, small ones first; return their names in the file."""
    found: dict[int, str] = {}
    for number, value in sorted(variables.items(), key=lambda pair: pair[1].numel()):
        if writer.size + value.numel() * value.element_size() <= MOST_BYTES:
            with suppress(UnkeptError):
                found[number] = writer.add(f"variable.{number}", value)
    return found


def _type_of(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _stored(tensor: torch.Tensor) -> StoredTensor:
    plain = tensor.detach().cpu().contiguous()
    size = plain.numel() * plain.element_size()
    # NumPy need not be installed, and reading a storage byte by byte takes 8 µs each.
    content = ctypes.string_at(plain.data_ptr(), size) if size else b""
    return StoredTensor(_type_of(tensor), tuple(tensor.shape), content)
