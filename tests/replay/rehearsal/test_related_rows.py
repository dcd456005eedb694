"""Relations between inputs and targets that a few rows show, whatever a model learns from them."""

from __future__ import annotations

import pytest
import torch

from torchwhy.replay.rehearsal.capture.captured_program import CapturedStep, Slot
from torchwhy.replay.rehearsal.related_rows import chances_of_columns


def chances(rows: torch.Tensor, target: torch.Tensor) -> tuple[float, float]:
    step = CapturedStep(0, (), (Slot(rows), Slot(target, "target")), (), (), 0.0)
    return chances_of_columns([step], 0, 1)


@pytest.fixture
def rows():
    torch.manual_seed(0)
    return torch.randn(150, 6)


@pytest.mark.parametrize(
    "relation",
    [
        lambda x: 0.5 * x[:, :1] + torch.randn(150, 1),
        lambda x: (x[:, 2].abs() > 1).long(),
        lambda x: (x[:, 0] * x[:, 1] > 0).long(),
    ],
    ids=["weak column", "square", "product"],
)
def test_a_relation_to_columns_is_no_chance(rows, relation):
    simple, _ = chances(rows, relation(rows))

    assert simple < 0.01


def test_parities_of_four_columns_are_no_chance(rows):
    simple, higher = chances(rows, (rows[:, :4].prod(1) > 0).long())

    assert simple > 0.02
    assert higher == 0


def test_unrelated_targets_are_chance(rows):
    simple, higher = chances(rows, torch.randn(150, 1))

    assert simple > 0.02
    assert higher > 0.02
