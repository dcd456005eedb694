"""Which numbers a program reads are losses, by what made them."""

from __future__ import annotations

import ast
import sys
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from torchwhy.observe.probes.metrics.called_objects import surroundings_of
from torchwhy.observe.probes.metrics.number_makers import makers_of

net, crit = nn.Linear(2, 2), nn.CrossEntropyLoss()
x, y = torch.randn(4, 2), torch.tensor([0, 1, 0, 1])


def objective(out: Any, target: Any) -> Any:
    return cross_entropy(out, target)


def kinds(text: str) -> list[object]:
    """Return what made the number that an expression in this function stands for."""
    out = net(x)
    val = crit(out, y)
    numbers = []
    numbers.append(val.item())
    total = 0.0
    total += val.item() * 4
    error_free = (out.argmax(1) == y).float().mean()
    assert total, error_free
    here = surroundings_of(sys._getframe())
    return [one.what for one in makers_of(ast.parse(text, mode="eval").body, here)]


@pytest.mark.parametrize(
    "text",
    [
        "val.item()",
        "float(val)",
        "val.detach().cpu().numpy()",
        "crit(net(x), y).item()",
        "cross_entropy(out, y).mean().item()",
        "objective(net(x), y).item()",
        "total / 8",
        "sum(numbers) / len(numbers)",
    ],
)
def test_a_loss_is_known_by_the_object_that_made_it(text: str):
    assert kinds(text) == ["cross_entropy"]


@pytest.mark.parametrize(
    "text", ["torch.exp(val).item()", "error_free.item()", "-val", "out.norm().item()"]
)
def test_what_is_no_loss_of_torch_is_not_taken_for_one(text: str):
    assert "cross_entropy" not in kinds(text)


def test_a_squared_error_that_is_spelled_out_is_one():
    assert kinds("((net(x) - y) ** 2).mean().item()") == ["mse_loss"]
