"""Layers with another size."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from torchwhy.replay.crash.trials.layer_sizes import given_size, resized, wanted_size


@pytest.mark.parametrize(
    ("layer", "shape", "size"),
    [
        (nn.Linear(5, 2, bias=False), (3, 7), 7),
        (nn.Conv2d(3, 4, 3, stride=2, padding=1), (2, 6, 8, 8), 6),
        (nn.Conv2d(3, 4, 3), (6, 8, 8), 6),
        (nn.ConvTranspose2d(4, 2, 3), (1, 5, 4, 4), 5),
        (nn.BatchNorm1d(4), (3, 9), 9),
        (nn.GroupNorm(2, 4), (3, 8, 5), 8),
        (nn.LayerNorm((2, 4)), (3, 2, 6), 6),
        (nn.LSTM(4, 3, batch_first=True, bidirectional=True), (2, 5, 6), 6),
        (nn.GRUCell(4, 3), (2, 6), 6),
    ],
    ids=lambda value: type(value).__name__,
)
def test_resized_layer_takes_what_the_first_refused(layer, shape, size):
    given = torch.randn(shape)
    with pytest.raises((RuntimeError, ValueError)):
        layer(given)

    assert given_size(layer, given) == size
    assert wanted_size(layer) not in (None, size)
    assert resized(layer, size)(given) is not None


def test_resized_layer_keeps_everything_else():
    layer = nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False).double()

    other = resized(layer, 6)

    assert str(other) == str(layer).replace("3, 4", "6, 4", 1)
    assert other.weight.dtype == torch.float64


def test_a_layer_of_the_users_own_is_not_resized():
    class Own(nn.Linear):
        pass

    assert wanted_size(Own(3, 2)) is None
