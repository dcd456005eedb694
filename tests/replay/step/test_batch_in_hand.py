"""A sample is named by its place in the dataset it came from: with several batches in a step, and several loaders."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.run_program import PROGRAMS, read_program, run_programs

BROKEN = PROGRAMS / "nonfinite-data" / "broken"


@pytest.mark.parametrize(
    ("name", "index"),
    [("missing_cell_in_an_accumulated_batch", 77), ("two_loaders_one_with_infinity", 61)],
)
def test_the_index_is_that_of_the_batch_which_held_the_value(
    name: str, index: int, tmp_path: Path
) -> None:
    program = read_program(BROKEN / f"{name}.py")

    cause = run_programs([program], tmp_path)[program.id].report.root_cause

    assert cause is not None
    assert cause.sample is not None
    assert cause.sample.dataset_index == index


def test_no_index_is_told_where_two_loaders_could_be_meant(tmp_path: Path) -> None:
    program = read_program(BROKEN / "two_loaders_one_with_infinity.py")

    cause = run_programs([program], tmp_path)[program.id].report.root_cause

    assert cause is not None
    assert all("of the dataset" not in below.message for below in cause.explains)
