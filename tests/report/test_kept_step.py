"""What the report tells about a kept step and about skipped updates."""

from __future__ import annotations

import argparse

import pytest

from torchwhy.commands.guidance.option_types import size_in_bytes
from torchwhy.report.kept_step import SkippedUpdate, passages


def test_rows_with_bad_data_stand_for_their_batch():
    skipped = [SkippedUpdate(2, (4, 5, 6), (5,)), SkippedUpdate(7, (1, 9), ())]

    (passage,) = passages(None, skipped, "report.json")

    assert "steps 2, 7" in passage.text
    assert "1, 5, 9." in passage.text


def test_the_lines_leave_the_rows_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.json").write_text(
        '{"skipped": [{"step": 2, "rows": [0, 1], "bad_rows": [1]},'
        ' {"step": 3, "rows": [4], "bad_rows": []}]}'
    )
    skipped = [SkippedUpdate(2, (0, 1), (1,)), SkippedUpdate(3, (4,), ())]
    (passage,) = passages(None, skipped, "report.json")
    names = {"dataset": "abcdef", "Subset": lambda dataset, rows: [dataset[row] for row in rows]}

    exec("import json\nfrom pathlib import Path\n" + "\n".join(passage.lines), names)

    assert names["dataset"] == ["a", "c", "d", "f"]


def test_without_rows_nothing_is_advised():
    (passage,) = passages(None, [SkippedUpdate(2)], "report.json")

    assert passage.lines == ()


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("2GB", 2_000_000_000), ("1.5 mb", 1_500_000), ("64KiB", 64_000), ("7", 7)],
)
def test_sizes_are_written_as_people_write_them(text, size):
    assert size_in_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1", "inf", "two", "nan"])
def test_other_sizes_are_refused(text):
    with pytest.raises(argparse.ArgumentTypeError):
        size_in_bytes(text)
