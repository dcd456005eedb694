"""What the program raises because we run its code is never recorded as the program's own exception."""

from __future__ import annotations

from types import SimpleNamespace, TracebackType
from typing import Any

import pytest
import torch

from torchwhy.observe.guest import Guests
from torchwhy.record.crashes import Crash
from torchwhy.replay.crash import caught_exceptions
from torchwhy.replay.crash.caught_exceptions import CaughtExceptions


class Watcher:
    """Stands in for the interpreter's monitoring: the test says which exception arrives."""

    stays_on = True
    is_on = True

    def __init__(self, arrived: Any) -> None:
        self.arrived = arrived

    def begin(self) -> None: ...
    def end(self) -> None: ...


@pytest.fixture
def caught(monkeypatch):
    written: list[Any] = []
    monkeypatch.setattr(caught_exceptions, "watcher_for", Watcher)
    crash = Crash(step=0, type="RuntimeError", message="x", caught=True)
    state = SimpleNamespace(step=0, backwards=0, frozen=False)
    watch = CaughtExceptions(
        SimpleNamespace(of=lambda *_, **__: crash),
        SimpleNamespace(),
        SimpleNamespace(),
        batches=SimpleNamespace(),
        recorder=SimpleNamespace(write=written.append),
        state=state,
        guests=Guests(written.append),
    )
    return SimpleNamespace(watch=watch, state=state, written=written)


def step_that_fails(watch: CaughtExceptions) -> None:
    for _ in range(1):
        try:
            torch.ones(2, 3) @ torch.ones(2, 3)
        except RuntimeError as error:
            trace = error.__traceback__
            assert isinstance(trace, TracebackType)
            watch._watcher.arrived(error, trace)
            continue


def test_an_exception_of_the_program_is_recorded(caught):
    step_that_fails(caught.watch)
    caught.watch.end()

    assert [type(event) for event in caught.written] == [Crash]


def test_an_exception_in_a_repeated_step_is_not(caught):
    caught.state.frozen = True
    step_that_fails(caught.watch)
    caught.watch.end()

    assert caught.written == []


def test_an_exception_in_an_experiment_is_not(caught):
    caught.watch._guests.protect("samples experiment", step_that_fails)(caught.watch)
    caught.watch.end()

    assert caught.written == []
