"""Constructors found in the text alone, by the path of a layer or by the expression that uses an object."""

from __future__ import annotations

import ast

import pytest

from torchwhy.source.analyses.made_places import layer_made_at, object_made_at
from torchwhy.source.edits import Source

NET = """
from torch import nn

def block(i, o):
    return nn.Sequential(nn.Linear(i, o), nn.Softmax(dim=1))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(4, 8),
            nn.ReLU(),
        )
        self.head = block(8, 3)
        self.also = nn.ReLU()
"""
TRAIN = """
from net import Net
model = Net()
plain = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())
loader = DataLoader(data, batch_size=4)
other = DataLoader(data)
criterion = nn.MSELoss(reduction="sum")
"""
FILES = [Source("train.py", TRAIN), Source("net.py", NET)]
KINDS = {
    "model": "Net", "model.body": "Sequential", "model.body.1": "ReLU", "model.head": "Sequential",
    "model.head.1": "Softmax", "plain": "Sequential", "plain.1": "Sigmoid", "criterion": "MSELoss",
    "unknown.3": "ReLU", "unknown.4": "GELU",
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("model.body.1", "net.py:12 in __init__"),
        ("model.head.1", "net.py:5 in block"),
        ("plain.1", "train.py:4"),
        ("criterion", "train.py:7"),
        ("unknown.3", "None"),  # two layers of that class
        ("unknown.4", "None"),
        ("model.nothing", "None"),
    ],
)
def test_a_layer_is_found_by_its_path(path, place):
    assert str(layer_made_at(FILES, path, KINDS)) == place


@pytest.mark.parametrize(
    ("used", "place"),
    [("loader", "train.py:5"), ("criterion", "None"), ("missing", "None")],
)
def test_a_loader_is_found_by_the_name_that_draws_from_it(used, place):
    node = ast.parse(used, mode="eval").body

    assert str(object_made_at(FILES, FILES[0], node, "DataLoader")) == place
