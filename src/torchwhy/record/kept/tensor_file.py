"""Files of tensors in the format of safetensors: the length of a header, the header as JSON, the bytes of the tensors.

Written here because the format takes a page, and a run must be able to keep its batch in every environment; files of
the library `safetensors` and ours are the same. Needs no torch: a tensor is a type, a shape and bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from torchwhy.errors import TraceError
from torchwhy.plain_data import dataclass
from torchwhy.record.run_folder import read_bounded

ALIGNED = 8  # bytes: the header is padded with spaces so that tensors begin at a multiple
LENGTH_BYTES = 8
METADATA = "__metadata__"
# Names of types in the format, by those of torch, with the bytes of one element.
TYPES = {
    "bool": ("BOOL", 1),
    "uint8": ("U8", 1),
    "int8": ("I8", 1),
    "int16": ("I16", 2),
    "uint16": ("U16", 2),
    "float16": ("F16", 2),
    "bfloat16": ("BF16", 2),
    "int32": ("I32", 4),
    "uint32": ("U32", 4),
    "float32": ("F32", 4),
    "complex64": ("C64", 8),
    "int64": ("I64", 8),
    "uint64": ("U64", 8),
    "float64": ("F64", 8),
}
TORCH_TYPES = {name: torch_name for torch_name, (name, _) in TYPES.items()}


@dataclass(frozen=True)
class StoredTensor:
    """A tensor of a file; `dtype` is torch's name of the type."""

    dtype: str
    shape: tuple[int, ...]
    content: bytes

    @property
    def row_bytes(self) -> int:
        """Return the size of one index of the first dimension."""
        return math.prod(self.shape[1:]) * TYPES[self.dtype][1]

    def rows(self, chosen: Sequence[int]) -> StoredTensor:
        """Return the tensor with some indices of its first dimension alone."""
        size = self.row_bytes
        parts = [self.content[row * size : (row + 1) * size] for row in chosen]
        return StoredTensor(self.dtype, (len(chosen), *self.shape[1:]), b"".join(parts))


def write_tensors(
    path: Path, tensors: Iterable[tuple[str, StoredTensor]], metadata: dict[str, str]
) -> None:
    """Write a file of tensors by name; the metadata are texts."""
    header: dict[str, Any] = {METADATA: metadata}
    contents: list[bytes] = []
    end = 0
    for name, tensor in tensors:
        begin, end = end, end + len(tensor.content)
        kind = TYPES[tensor.dtype][0]
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [begin, end]}
        contents.append(tensor.content)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNED)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(LENGTH_BYTES, "little"))
        file.write(text)
        file.writelines(contents)


def read_tensors(path: Path, most: int) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    """Return the tensors and the metadata of a file of at most `most` bytes; raise `TraceError` if it is damaged."""
    content = read_bounded(path, most)
    try:
        length = int.from_bytes(content[:LENGTH_BYTES], "little")
        data = memoryview(content)[LENGTH_BYTES + length :]
        header = json.loads(content[LENGTH_BYTES : LENGTH_BYTES + length])
        metadata = {str(key): str(value) for key, value in header.pop(METADATA, {}).items()}
        return {str(name): _tensor(facts, data) for name, facts in header.items()}, metadata
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise TraceError(
            f"{path} is no file of tensors ({problem}).", slug="unreadable-trace"
        ) from problem


def _tensor(facts: Any, data: memoryview) -> StoredTensor:
    dtype = TORCH_TYPES[facts["dtype"]]
    shape = tuple(int(size) for size in facts["shape"])
    begin, end = (int(place) for place in facts["data_offsets"])
    size = math.prod(shape) * TYPES[dtype][1]
    if min((0, *shape)) < 0 or not 0 <= begin <= end <= len(data) or end - begin != size:
        raise ValueError("a tensor lies outside of it")
    return StoredTensor(dtype, shape, bytes(data[begin:end]))
