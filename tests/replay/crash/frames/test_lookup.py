"""Values are found without running the user's code, or not at all."""

from __future__ import annotations

import ast
import sys
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

from torchwhy.replay.crash.frames.lookup import Lookup, Unknown


class Trap:
    """Everything about it that runs code is a failure."""

    def __init__(self) -> None:
        self.plain = torch.zeros(2, 3)

    @property
    def computed(self) -> torch.Tensor:
        raise AssertionError("a property was run")

    def __getattr__(self, name: str) -> Any:
        raise AssertionError("__getattr__ was run")

    def __getitem__(self, key: object) -> Any:
        raise AssertionError("__getitem__ was run")

    def __add__(self, other: object) -> Any:
        raise AssertionError("__add__ was run")


class Pair(NamedTuple):
    first: torch.Tensor
    second: int


def look_up(text: str) -> Any:
    x = torch.zeros(4, 6)
    batch = {"image": torch.ones(2, 5), "pair": [torch.zeros(1), torch.zeros(7)]}
    net = nn.Sequential(nn.Linear(6, 3), nn.ReLU())
    trap, pair = Trap(), Pair(torch.zeros(3), 9)
    assert (x, batch, net, trap, pair) is not None
    return Lookup(sys._getframe()).value(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("x", [4, 6]),
        ("x.T", [6, 4]),
        ("x[:, 0]", [4]),
        ("x.transpose(0, 1)", [6, 4]),
        ("x.view(-1, 2).unsqueeze(0)", [1, 12, 2]),
        ("batch['image']", [2, 5]),
        ("batch['pair'][1]", [7]),
        ("net[0].weight", [3, 6]),
        ("trap.plain", [2, 3]),
        ("pair.first", [3]),
        ("x + 2 * x", [4, 6]),
    ],
)
def test_value_is_found(text, shape):
    assert list(look_up(text).shape) == shape


@pytest.mark.parametrize(
    "text",
    [
        "trap.computed",
        "trap.missing",
        "trap[0]",
        "trap + 1",
        "net(x)",
        "x.zero_()",
        "print(x)",
        "nobody",
        "[y for y in x]",
        "x.view(5, 5)",
    ],
)
def test_nothing_is_run_to_find_a_value(text):
    with pytest.raises(Unknown):
        look_up(text)
