"""A mode that falls asleep inside an operation leaves torch's stack at the next line, and leaves nothing behind."""

from __future__ import annotations

import sys

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torchwhy.observe.torch_features.mode_stack import active_modes, take_off
from torchwhy.replay.observing.pausable_mode import PausableMode


class Sleepy(PausableMode):
    """Falls asleep in its second operation."""

    def __init__(self):
        super().__init__()
        self.seen = 0

    def begin(self):
        self.is_on = True
        self._put_on()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen += 1
        if self.seen == 2:
            self.sleep()
        return self.run(func, args, kwargs or {})


class Other(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@pytest.fixture
def mode():
    mode = Sleepy()
    mode.begin()
    yield mode
    if mode in active_modes():
        take_off(mode)
    assert sys.gettrace() is None


def added(x):
    return x + 1  # the operation is the last thing that this frame does


def test_it_is_gone_after_the_operation_in_which_it_fell_asleep(mode):
    x = torch.ones(2)
    x = x + 1
    x = x + 1

    assert mode.seen == 2
    assert active_modes() == []
    assert sys.gettrace() is None
    assert sys._getframe().f_trace is None


def test_it_is_gone_if_the_operation_ends_its_function(mode):
    added(added(torch.ones(2)))

    assert active_modes() == []
    assert mode.seen < 4


def test_it_looks_again_when_it_wakes(mode):
    x = added(torch.ones(2))

    mode.wake()
    added(x)

    assert mode.seen == 3
    assert active_modes() == [mode]


def test_an_exception_on_that_line_is_the_programs(mode):
    x = torch.ones(2)

    with pytest.raises(ZeroDivisionError):
        added(x) / 0 if 1 // 0 else None

    added(x)
    assert active_modes() == []


def test_it_stays_below_a_mode_of_the_program(mode):
    with Other():
        x = added(torch.ones(2))
        for _ in range(100):
            x = added(x)

        assert active_modes()[0] is mode
        assert sys.gettrace() is None


def test_a_debugger_is_left_alone(mode):
    def follow(frame, event, arg):
        return None

    sys.settrace(follow)
    try:
        added(torch.ones(2))
        assert sys.gettrace() is follow
    finally:
        sys.settrace(None)

    assert active_modes() == [mode]
