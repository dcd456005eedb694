"""What a later observation knows of parameters: where their values come from, and whether a gradient is new."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from torchwhy.observe.program.names import Names
from torchwhy.record.learning import ParameterSeen
from torchwhy.replay.observing.current_observation import CurrentObservation
from torchwhy.replay.parameters.parameter_memory import ParameterMemory, _is_as_drawn


def memory_of(*models: nn.Module) -> tuple[ParameterMemory, CurrentObservation]:
    names, observation = Names(), CurrentObservation()
    for model in models:
        names.add_root("net", model)
    return ParameterMemory(names, observation), observation


def entry(parameter: torch.Tensor, **more: Any) -> ParameterSeen:
    given: dict[str, Any] = {
        "in_optimizer": True,
        "requires_grad": True,
        "used": True,
        "gradient": "none",
    }
    rms = float(parameter.detach().square().mean().sqrt())
    return ParameterSeen(
        name="weight", shape=list(parameter.shape), **{**given, "rms": rms, **more}
    )


@pytest.mark.parametrize(
    "layer",
    [nn.Linear(12, 5), nn.Conv2d(3, 8, 3), nn.LSTM(4, 6), nn.ConvTranspose1d(6, 4, 3)],
    ids=repr,
)
def test_values_of_a_new_layer_are_recognised(layer):
    parameter = next(layer.parameters())

    assert _is_as_drawn(layer, parameter)
    with torch.no_grad():
        parameter.view(-1)[0] = 5.0
    assert not _is_as_drawn(layer, parameter)


def test_gradient_left_over_from_before_the_observation_has_not_arrived():
    layer = nn.Linear(3, 1)
    layer(torch.ones(2, 3)).sum().backward()
    known, observation = memory_of(layer)
    observation.number = 1
    known.begin_observation([])

    assert not known.has_arrived(layer.weight)
    layer.zero_grad(set_to_none=False)
    assert not known.has_arrived(layer.weight)
    layer(torch.ones(2, 3)).sum().backward()
    assert known.has_arrived(layer.weight)
    layer.zero_grad()
    assert not known.has_arrived(layer.weight)


def test_values_that_changed_between_two_observations_are_of_unknown_origin():
    layer = nn.Linear(3, 4)
    known, observation = memory_of(layer)
    weight, bias = layer.weight, layer.bias
    for one in (weight, bias):
        known.remember({id(one): entry(one, written_by="random")}, {id(one): one})
    observation.number = 1
    with torch.no_grad():
        weight.add_(0.5)

    assert known.complete(weight, entry(weight), layer).written_by == "unknown"
    assert known.complete(bias, entry(bias), layer).written_by == "random"


def test_first_holder_of_a_parameter_is_the_one_that_trained_it():
    layer = nn.Linear(3, 4)
    known, observation = memory_of(layer)
    known.held_by(0, [layer.weight])
    known.held_by(1, [layer.weight, layer.bias])
    observation.number = 1

    assert known.was_trained(layer.weight, optimizers={1})
    assert not known.was_trained(layer.bias, optimizers={1})
