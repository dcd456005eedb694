"""How the gradients of a step are read: exactly, and on a device with one wait."""

from __future__ import annotations

import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torchwhy.observe.steps.gradients import Reading, is_finite, read_together

NAN, INFINITY = math.nan, math.inf


class Waits(TorchDispatchMode):
    """Counts what would wait for a device: numbers read one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += "_local_scalar_dense" in str(func)
        return func(*args, **(kwargs or {}))


def as_on_a_device(parameters: list[torch.Tensor]) -> Reading:
    """Return a reading that goes the way of a device, though its tensors are on the CPU."""
    reading = Reading(parameters)
    reading._adds_up = False
    return reading


def optimizer_with(*gradients: torch.Tensor) -> torch.optim.Optimizer:
    parameters = [torch.nn.Parameter(torch.zeros_like(gradient)) for gradient in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    return torch.optim.SGD(parameters, lr=0.1)


def held_by(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return optimizer.param_groups[0]["params"]


@pytest.mark.parametrize("kind", [Reading, as_on_a_device])
@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("bad", [NAN, INFINITY, -INFINITY])
def test_one_bad_element_is_found_and_the_next_step_is_judged_anew(kind, large, bad):
    gradients = [torch.randn(100), torch.randn(40_000)]
    optimizer = optimizer_with(*gradients)
    reading = kind(held_by(optimizer))

    assert math.isfinite(reading.total(optimizer))
    gradients[large][7] = bad
    assert not math.isfinite(reading.total(optimizer))
    gradients[large][7] = 0.0
    assert math.isfinite(reading.total(optimizer))


def test_parameter_that_takes_the_place_of_another_is_read():
    optimizer = optimizer_with(torch.ones(3), torch.ones(4))
    reading = Reading(held_by(optimizer))
    (replacement,) = held_by(optimizer_with(torch.full((5,), NAN)))

    optimizer.param_groups[0]["params"][1] = replacement

    assert not math.isfinite(reading.total(optimizer))


def test_reading_changes_no_bit_and_no_version():
    gradient = torch.tensor([1e-45, -0.0, 3.4e38, 0.1])
    before, version = gradient.clone(), gradient._version
    for kind in (Reading, as_on_a_device):
        optimizer = optimizer_with(gradient)
        kind(held_by(optimizer)).total(optimizer)

    assert torch.equal(gradient.view(torch.int32), before.view(torch.int32))
    assert gradient._version == version


def test_losses_scale_and_gradients_of_a_device_are_one_wait():
    optimizer = optimizer_with(torch.randn(10), torch.randn(50_000))
    reading = as_on_a_device(held_by(optimizer))
    with Waits() as waits:
        answers = reading.answers(optimizer)
        values = read_together([torch.tensor(2.0), torch.tensor([8.0]), *answers])

    assert values[:2] == [2.0, 8.0]
    assert all(map(math.isfinite, values))
    assert waits.count == 0  # `tolist` is the one


def test_numbers_that_were_read_already_keep_their_place():
    assert read_together([1.5, torch.tensor(2.5), 3.5]) == [1.5, 2.5, 3.5]
    assert read_together([0.25]) == [0.25]
    assert read_together([torch.tensor(0.1, dtype=torch.float64)]) == [0.1]


def test_finite_sums_that_overflow_are_no_alarm():
    assert is_finite(torch.full((10,), 3e38))
    assert not is_finite(torch.tensor([1.0, NAN]).half())
