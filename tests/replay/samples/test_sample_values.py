"""The values of a failing sample: few, in proportion, and none where the user wants none."""

from __future__ import annotations

import math

import pytest
import torch

from torchwhy.record.numbers import decode
from torchwhy.replay.microscope.tensor_facts import BINS, bins_of, facts_of
from torchwhy.replay.samples.sample_values import MOST_VALUES, SampleValuesWriter, thinning


class Batch:
    def __init__(self, **leaves: torch.Tensor) -> None:
        self._leaves = leaves

    def leaves(self):
        return iter(self._leaves.items())


class Recorder:
    def __init__(self) -> None:
        self.events = []

    def write(self, event) -> None:
        self.events.append(event)


@pytest.mark.parametrize(
    "shape", [[], [5], [100_000], [3, 224, 224], [224, 224, 3], [1, 512, 512], [4, 4, 4, 4, 4, 4]]
)
def test_a_sample_is_thinned_to_a_few_kilobytes(shape):
    every = thinning(shape)

    assert (
        math.prod(-(-size // step) for size, step in zip(shape, every, strict=True)) <= MOST_VALUES
    )


def test_an_image_keeps_its_proportions_and_channels():
    assert thinning([3, 224, 224]) == [1, 13, 13]


def test_the_guilty_row_and_its_neighbour_are_written():
    recorder = Recorder()
    data = torch.arange(12.0).reshape(4, 3)
    data[2, 1] = float("nan")
    batch = Batch(x=data, y=torch.arange(4), scalar=torch.tensor(1.0), other=torch.zeros(7, 2))

    SampleValuesWriter(recorder, keeps_data=True).write(batch, {2: 1}, size=4, step=9)

    x, y = recorder.events
    assert (x.field, x.step, x.position, x.good_position) == ("x", 9, 2, 1)
    assert x.bad == [6.0, "nan", 8.0]
    assert x.good == [3.0, 4.0, 5.0]
    assert (y.shape, y.bad, y.good) == ([], [2.0], [1.0])


def test_without_data_nothing_is_written():
    recorder = Recorder()

    SampleValuesWriter(recorder, keeps_data=False).write(
        Batch(x=torch.zeros(4)), {2: 1}, size=4, step=9
    )

    assert recorder.events == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64, torch.int64])
def test_bins_count_as_a_loop_over_the_values_does(dtype):
    values = (torch.arange(500) * 7919 % 501).to(dtype)

    bins = bins_of(values, facts_of(values))

    low, high = float(values.min()), float(values.max())
    expected = [0] * BINS
    for value in values.tolist():
        expected[min(BINS - 1, int((value - low) / (high - low) * BINS))] += 1
    assert bins == expected


def test_bins_leave_out_what_is_not_finite():
    values = torch.tensor([0.0, 1.0, float("nan"), float("inf"), -float("inf")])

    bins = bins_of(values, facts_of(values))

    assert sum(bins) == 2
    assert decode("nan") != 0


@pytest.mark.parametrize(
    "values",
    [torch.ones(4), torch.tensor([]), torch.tensor([True, False]), torch.full((3,), math.nan)],
)
def test_values_without_a_spread_have_no_bins(values):
    assert bins_of(values, facts_of(values)) == []


def test_large_tensors_are_counted_in_part():
    values = torch.arange(1_000_000, dtype=torch.float32)

    bins = bins_of(values, facts_of(values))

    assert 30_000 < sum(bins) < 140_000
    assert max(bins) - min(bins) <= 2
