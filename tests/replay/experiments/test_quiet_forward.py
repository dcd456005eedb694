"""A model is called once more so that nobody notices, or not at all."""

from __future__ import annotations

import random

import torch
from torch import nn

from torchwhy.replay.experiments.quiet_forward import unnoticed, why_not

HISTORY: list[int] = []
COUNT = 0


class Busy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout())
        self.register_buffer("total", torch.zeros(3))
        self.calls = 0
        self.shapes = []

    def forward(self, x):
        self.calls += 1
        self.shapes.append(x.shape)
        self.total += x.sum(0)
        self.remembered = x
        print("called")  # noqa: T201 - what must not be seen
        return self.layer(x) + torch.rand(()) + random.random()


class Global(Busy):
    def forward(self, x):
        HISTORY.append(len(x))
        return self.layer(x)


class Counting(Busy):
    def forward(self, x):
        global COUNT  # noqa: PLW0603 - what is to be found
        COUNT += 1
        return self.layer(x)


class Logger:
    def add(self, value):
        pass


def test_everything_a_forward_changes_is_put_back(capsys):
    model = Busy()
    model(torch.randn(4, 3))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    attributes = {
        name: value for name, value in vars(model).items() if name in ("calls", "remembered")
    }
    stream, python = torch.get_rng_state(), random.getstate()
    capsys.readouterr()

    with unnoticed(model) as same_chance:
        same_chance()
        first = model(torch.ones(4, 3))
        same_chance()
        second = model(torch.ones(4, 3))

    assert torch.equal(first, second)
    assert not first.requires_grad
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert model.calls == attributes["calls"]
    assert model.remembered is attributes["remembered"]
    assert len(model.shapes) == 1
    assert model.training
    assert model.layer[2].training
    assert torch.equal(stream, torch.get_rng_state())
    assert python == random.getstate()
    assert capsys.readouterr().out == ""


def test_state_is_put_back_when_the_forward_raises():
    model = Busy()

    try:
        with unnoticed(model):
            model(torch.randn(4, 7))
    except RuntimeError:
        pass

    assert model.training
    assert model.calls == 0


def test_a_plain_model_may_be_called():
    assert why_not(Busy()) is None


def test_a_model_that_writes_to_a_global_list_is_not_called():
    assert "HISTORY" in (why_not(Global()) or "")


def test_a_model_that_counts_in_a_global_is_not_called():
    assert "global" in (why_not(Counting()) or "")


def test_a_model_with_hooks_is_not_called():
    model = Busy()
    model.layer[0].register_forward_hook(lambda *_: None)

    assert why_not(model) == "it has hooks"


def test_a_model_that_holds_an_object_of_the_programs_is_not_called():
    model = Busy()
    model.logger = Logger()

    assert "logger" in (why_not(model) or "")
