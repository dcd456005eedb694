"""A run with another seed: every way to set a seed gives other numbers, and the same ones again for the same seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from torchwhy.observe.hooks import Hooks
from torchwhy.observe.program.other_seeds import change_seeds


def _torch() -> Any:
    torch.manual_seed(7)
    return torch.rand(3).tolist()


def _generator() -> Any:
    return torch.rand(3, generator=torch.Generator().manual_seed(7)).tolist()


def _python() -> Any:
    random.seed(7)
    return random.random()


def _numpy() -> Any:
    np.random.seed(7)  # noqa: NPY002
    return np.random.rand(3).tolist()  # noqa: NPY002


def _new_numpy() -> Any:
    return np.random.default_rng(seed=7).random(3).tolist()


@pytest.fixture
def changed():
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()  # noqa: NPY002
    hooks = Hooks()
    yield lambda: change_seeds(1_000_003, hooks.replace_unseen)
    hooks.remove_all()
    torch.set_rng_state(states[0])
    random.setstate(states[1])
    np.random.set_state(states[2])  # noqa: NPY002


@pytest.mark.parametrize("draw", [_torch, _generator, _python, _numpy, _new_numpy])
def test_the_program_draws_other_numbers_that_repeat(changed, draw: Callable[[], Any]):
    before = draw()

    changed()

    first, second = draw(), draw()
    assert first != before
    assert first == second


def test_a_generator_is_still_torchs(changed):
    plain = torch.Generator

    changed()

    made = torch.Generator(device="cpu")
    assert isinstance(made, plain)
    assert isinstance(made.manual_seed(3), plain)
    assert made.initial_seed() == 1_000_006


def test_what_is_no_whole_number_stays(changed):
    changed()

    random.seed("a name")
    first = random.random()
    random.seed("a name")
    assert random.random() == first
    assert np.random.default_rng(None) is not None
