"""The optimizer of a loop is told by what is done with it, whatever the program calls it."""

from __future__ import annotations

import textwrap

import pytest

from torchwhy.detect.fixes.training import optimizer_variables
from torchwhy.source.edits import Source


def source_of(text):
    return Source("train.py", textwrap.dedent(text))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("thing = Adam(p)\nloss.backward()\nplan.step()\nthing.step()\n", "thing"),
        (
            "def fit(thing, plan):\n    loss.backward()\n    thing.step()\n    plan.step()\n",
            "thing",
        ),
        ("state = world.step(action)\nloss.backward()\nthing.step()\n", "thing"),
        ("s.scale(loss).backward()\ns.step(thing)\nplan.step()\n", "thing"),
        ("thing = make()\nplan = StepLR(thing, 3)\nloss.backward()\nplan.step()\n", None),
        ("thing = Adam(p)\nplan = Warmup(thing)\nloss.backward()\nplan.step()\n", None),
    ],
    ids=["made here", "given", "beside a game", "under a scaler", "schedule", "own schedule"],
)
def test_the_optimizer_that_steps_is_found_without_its_name(text, name):
    source = source_of(text)

    assert optimizer_variables.stepped(source, within=source.tree) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("thing.zero_grad()\nnet(x).backward()\n", "thing"),
        ("net.zero_grad()\nnet(x).backward()\n", None),
        ("Adam(net.parameters())\nnet.zero_grad()\n", None),
        ("thing.zero_grad()\nthing.step()\n", None),
    ],
    ids=["never stepped", "a model that is called", "a model with parameters", "stepped"],
)
def test_an_optimizer_that_is_cleared_and_not_stepped_is_no_model(text, name):
    source = source_of(text)

    assert optimizer_variables.cleared_only(source, within=source.tree) == name
