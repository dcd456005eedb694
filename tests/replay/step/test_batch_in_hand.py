"""A sample is named by its place in the dataset it came from: with several batches in a step, and several loaders."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.run_program import PROGRAMS, read_program, run_programs
from torchwhy.finding import Finding

OF_THE_DATASET = {
    "nonfinite-data/broken/missing_cell_in_an_accumulated_batch": 77,
    "nonfinite-data/broken/two_loaders_one_with_infinity": 61,
    "log-of-nonpositive/broken/batches_fetched_one_ahead": 201,
    "log-of-nonpositive/broken/batches_fetched_per_update": 77,
    "log-of-nonpositive/broken/collate_sorts_and_drops_rows": 77,
}
OF_A_TENSOR = {
    "log-of-nonpositive/broken/slices_of_a_tensor": "x",
    "log-of-nonpositive/broken/rows_by_permutation": "x",
    "log-of-nonpositive/broken/slices_of_a_numpy_array": "X",
    "log-of-nonpositive/broken/split_of_an_attribute": "data.x",
}


def _root_of(name: str, directory: Path) -> Finding:
    program = read_program(PROGRAMS / f"{name}.py")
    cause = run_programs([program], directory)[program.id].report.root_cause
    assert cause is not None
    return cause


@pytest.mark.parametrize(("name", "index"), OF_THE_DATASET.items())
def test_the_index_is_that_of_the_batch_which_held_the_value(
    name: str, index: int, tmp_path: Path
) -> None:
    sample = _root_of(name, tmp_path).sample

    assert sample is not None
    assert (sample.dataset_index, sample.rows_of) == (index, None)


@pytest.mark.parametrize(("name", "tensor"), OF_A_TENSOR.items())
def test_without_a_loader_the_row_is_that_of_the_tensor_which_was_sliced(
    name: str, tensor: str, tmp_path: Path
) -> None:
    sample = _root_of(name, tmp_path).sample

    assert sample is not None
    assert (sample.dataset_index, sample.rows_of) == (201, tensor)


def test_a_consequence_names_the_row_of_the_same_batch(tmp_path: Path) -> None:
    cause = _root_of("nonfinite-data/broken/two_loaders_one_with_infinity", tmp_path)

    rows = [below.sample.dataset_index for below in cause.explains if below.sample is not None]

    assert rows
    assert set(rows) == {61}
