"""A model is counted for itself, also if it lives where a freed one lived."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from torchwhy.observe.descriptors import Forward
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.probes.forwards.modes import ModeCounter
from torchwhy.record.learning import ForwardModes


class Net(nn.Linear):
    """A class of the program, since its `forward` gets replaced."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x)


@pytest.fixture
def known() -> dict[str, nn.Module]:
    return {}


@pytest.fixture
def told() -> list[Any]:
    return []


@pytest.fixture
def counter(known: dict[str, nn.Module], told: list[Any]) -> Iterator[ModeCounter]:
    hooks = Hooks()
    counter = ModeCounter(
        told.append,
        SimpleNamespace(step=1, backwards=0),
        SimpleNamespace(roots=lambda: list(known.items())),  # type: ignore[arg-type]
        lambda model: None,
        told.append,
        lambda: None,
    )
    counter.install(hooks, Forward, counts=True, sees_dropout=False)
    yield counter
    hooks.remove_all()


def call_twice(model: nn.Module) -> None:
    for _ in range(2):
        model(torch.ones(1, 2))


def test_model_of_another_name_begins_anew(
    counter: ModeCounter, known: dict[str, nn.Module], told: list[Any]
) -> None:
    for name in ("first", "second"):
        known[name] = Net(2, 1)
        counter.watch_known_models()
        call_twice(known[name])
        del known[name]

    counter.tell()

    assert [(one.path, one.count) for one in told] == [("first", 2), ("second", 2)]


def test_model_of_the_same_name_goes_on(
    counter: ModeCounter, known: dict[str, nn.Module], told: list[Any]
) -> None:
    kept = []
    for _ in range(3):
        known["net"] = Net(2, 1)
        counter.watch_known_models()
        call_twice(known["net"])
        kept.append(torch.ones(64))  # Another address may be free each time.
        del known["net"]

    counter.tell()

    assert [(type(one), one.count) for one in told] == [(ForwardModes, 6)]


def test_unknown_model_at_the_address_of_a_freed_one_is_not_counted(
    counter: ModeCounter, known: dict[str, nn.Module], told: list[Any]
) -> None:
    known["net"] = Net(2, 1)
    counter.watch_known_models()
    call_twice(known["net"])
    del known["net"]

    for _ in range(8):
        call_twice(Net(2, 1))
    counter.tell()

    assert [(one.path, one.count) for one in told] == [("net", 2)]


def test_model_that_goes_while_nothing_is_counted_is_forgotten(
    counter: ModeCounter, known: dict[str, nn.Module], told: list[Any]
) -> None:
    known["net"] = Net(2, 1)
    counter.watch_known_models()
    call_twice(known["net"])

    with counter.paused():
        del known["net"]
        gc.collect()
    for _ in range(8):
        call_twice(Net(2, 1))
    counter.tell()

    assert [(one.path, one.count) for one in told] == [("net", 2)]
