"""Files of tensors: the format that safetensors specifies."""

from __future__ import annotations

import json

import pytest

from torchwhy.errors import TraceError
from torchwhy.record.kept.tensor_file import StoredTensor, read_tensors, write_tensors


def test_a_file_is_laid_out_as_the_format_says(tmp_path):
    path = tmp_path / "one.safetensors"

    write_tensors(path, [("x", StoredTensor("int16", (2, 1), b"\1\0\2\0"))], {"step": "3"})

    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    assert length % 8 == 0
    assert json.loads(content[8 : 8 + length]) == {
        "__metadata__": {"step": "3"},
        "x": {"dtype": "I16", "shape": [2, 1], "data_offsets": [0, 4]},
    }
    assert content[8 + length :] == b"\1\0\2\0"


def test_the_library_reads_our_files(tmp_path):
    library = pytest.importorskip("safetensors.torch")
    path = tmp_path / "one.safetensors"
    write_tensors(path, [("x", StoredTensor("int16", (2,), b"\1\0\2\0"))], {})

    assert library.load_file(path)["x"].tolist() == [1, 2]


def test_some_rows_are_taken_without_torch(tmp_path):
    path = tmp_path / "one.safetensors"
    write_tensors(path, [("x", StoredTensor("int8", (3, 2), b"abcdef"))], {})

    tensors, _ = read_tensors(path, 1000)

    assert tensors["x"].rows([2, 0]) == StoredTensor("int8", (2, 2), b"efab")


@pytest.mark.parametrize(
    "header",
    [
        {"x": {"dtype": "I8", "shape": [4], "data_offsets": [0, 4]}},
        {"x": {"dtype": "I8", "shape": [-1], "data_offsets": [0, -1]}},
        {"x": {"dtype": "PICKLE", "shape": [1], "data_offsets": [0, 1]}},
        ["x"],
    ],
)
def test_a_damaged_file_is_refused(tmp_path, header):
    path = tmp_path / "one.safetensors"
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"a")

    with pytest.raises(TraceError, match="no file of tensors"):
        read_tensors(path, 1000)
