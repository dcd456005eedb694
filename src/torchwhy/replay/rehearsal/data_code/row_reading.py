"""Reads one row of a dataset, with random states that are put back afterwards."""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from torchwhy.observe.program import seeds

MOST_LEAVES = 32  # values of one row
DEEPEST = 4
SEED = 20_011  # of the first reading; any two numbers would do
SCALARS = (bool, int, float, str, bytes)


@contextmanager
def random_states_kept() -> Iterator[None]:
    """Put the states of all global generators back."""
    states = seeds.take()
    try:
        yield
    finally:
        seeds.restore(states)


def seed_all(number: int) -> None:
    """Set all global generators."""
    torch.default_generator.manual_seed(number)
    random.seed(number)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        numpy.random.seed(number)


def digests_in(row: Any, path: str = "row", depth: int = DEEPEST) -> Iterator[tuple[str, str]]:
    """Yield the values of a row with their path in it, each as a digest of its content."""
    array = _as_array(row)
    if array is not None:
        content = f"{array.dtype}{array.shape}".encode() + array.tobytes()
        yield path, hashlib.blake2b(content, digest_size=16).hexdigest()
    elif isinstance(row, SCALARS):
        yield path, repr(row)
    elif depth and isinstance(row, Mapping):
        for key, value in list(row.items())[:MOST_LEAVES]:
            yield from digests_in(value, f"{path}[{key!r}]", depth - 1)
    elif depth and isinstance(row, (list, tuple)):
        for place, value in enumerate(row[:MOST_LEAVES]):
            yield from digests_in(value, f"{path}[{place}]", depth - 1)


def leaves_in(
    row: Any, path: str = "row", depth: int = DEEPEST
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the numbers of a row with their path in it, as tensors; words are left out."""
    array = _as_array(row)
    if array is not None:
        yield path, torch.from_numpy(array.copy())
    elif isinstance(row, (bool, int, float)):
        yield path, torch.tensor(row)
    elif depth and isinstance(row, Mapping):
        for key, value in list(row.items())[:MOST_LEAVES]:
            yield from leaves_in(value, f"{path}[{key!r}]", depth - 1)
    elif depth and isinstance(row, (list, tuple)):
        for place, value in enumerate(row[:MOST_LEAVES]):
            yield from leaves_in(value, f"{path}[{place}]", depth - 1)


def _as_array(value: Any) -> Any:
    """Return a tensor, an array or a picture as an array; None for anything else."""
    numpy: Any = sys.modules.get("numpy")
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or value.is_quantized:
            return None
        value = value.detach().cpu()
        return (value.float() if value.dtype is torch.bfloat16 else value).contiguous().numpy()
    if numpy is None:
        return None
    if isinstance(value, (numpy.ndarray, numpy.generic)) or hasattr(value, "__array_interface__"):
        array = numpy.ascontiguousarray(value)
        return array if array.dtype != object else None
    return None
