"""Arguments that a function is given as tensors and never reads: named if the signature is the function's own."""

from __future__ import annotations

import pytest

from tests.support.children import Zygote
from tests.support.rehearsals import rehearse

HEAD = """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
x, y, weight = torch.randn(64, 8), torch.rand(64, 1), torch.rand(64, 1)
"""
TRAIN = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(10):
    optimizer.zero_grad()
    {loss}.backward()
    optimizer.step()
"""
LINEAR = "model = nn.Linear(8, 1)\n"


@pytest.fixture(scope="module")
def zygote():
    started = Zygote()
    yield started
    started.close()


def unread(functions: str, loss: str, zygote, tmp_path) -> object:
    text = HEAD + functions + TRAIN.format(loss=loss)
    done = rehearse(text, zygote=zygote, folder=tmp_path, steps=10)
    assert done.errors == ""
    assert done.check("nothing-thrown-away").answer == "yes"
    return done.answer("parts-read").get("argument")


BLOCK = """
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x, mask):
        return self.layer(x).softmax(1)

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.head = Attention(), nn.Linear(8, 1)

    def forward(self, x, mask):
        return self.head(self.inner(x, mask)) * mask

model = Block()
"""


@pytest.mark.parametrize(
    ("functions", "loss", "argument"),
    [
        (
            LINEAR
            + "def weighted(out, target, weight):\n    return (out - target).square().mean()\n",
            "weighted(model(x), y, weight)",
            "weight",
        ),
        (BLOCK, "F.mse_loss(model(x, weight), y)", "mask"),
    ],
    ids=["loss function", "inner layer"],
)
def test_an_argument_that_is_never_read_is_named(functions, loss, argument, zygote, tmp_path):
    assert unread(functions, loss, zygote, tmp_path) == argument


FAMILY = """
class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 1)

    def forward(self, x, weight):
        return self.layer(x)

class Weighted(Linear):
    pass

class Other(nn.Module):
    def forward(self, x, weight):
        return x * weight

model = Linear()
"""
INTERFACE = """
class Base(nn.Module):
    def encode(self, x, weight):
        raise NotImplementedError

class Model(Base):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 1)

    def encode(self, x, weight):
        return self.layer(x)

model = Model()
"""
STACK = """
class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x, weight):
        return self.layer(x)

class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x, weight):
        return self.layer(x) * weight

model = nn.ModuleList([Plain(), Weighted()])

def output():
    out = x
    for layer in model:
        out = layer(out, weight)
    return out
"""
HOOK = """
model = nn.Linear(8, 1)

def double(module, inputs, output):
    return output * 2

model.register_forward_hook(double)
"""


@pytest.mark.parametrize(
    ("functions", "loss"),
    [
        (FAMILY, "F.mse_loss(model(x, weight), y)"),
        (INTERFACE, "F.mse_loss(model.encode(x, weight), y)"),
        (STACK, "output().square().mean()"),
        (HOOK, "F.mse_loss(model(x), y)"),
        (
            LINEAR
            + "def mse(out, y, weight):\n    return F.mse_loss(out, y)\nLOSSES = {'mse': mse}\n",
            "LOSSES['mse'](model(x), y, weight)",
        ),
        (
            LINEAR + "def mse(out, y, _weight):\n    return F.mse_loss(out, y)\n",
            "mse(model(x), y, weight)",
        ),
        (
            LINEAR + "def mse(out, y, weight):\n    del weight\n    return F.mse_loss(out, y)\n",
            "mse(model(x), y, weight)",
        ),
        (
            LINEAR + "def mse(out, y, weight=None):\n    return F.mse_loss(out, y)\n",
            "mse(model(x), y)",
        ),
    ],
    ids=["family", "interface", "stack", "hook", "table", "underscore", "del", "no tensor"],
)
def test_a_signature_that_others_prescribe_is_not_named(functions, loss, zygote, tmp_path):
    assert unread(functions, loss, zygote, tmp_path) is None
