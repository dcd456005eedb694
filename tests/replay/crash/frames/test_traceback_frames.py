"""Whose exception it is, and what the failing expression names."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from torchwhy.replay.crash.frames.failed_call import failed_call
from torchwhy.replay.crash.frames.failed_operands import operands_of
from torchwhy.replay.crash.frames.raisers import who_raised
from torchwhy.replay.crash.frames.traceback_frames import (
    TracebackFrame,
    below,
    blamed,
    frames_of,
    told_error,
)
from torchwhy.source import files


@pytest.fixture(autouse=True)
def torch_is_known():
    files.remember_torch(torch.__file__)


def multiply(left, right):
    return left @ right


def refuse(x):
    if x.dim() == 2:
        raise ValueError("two dimensions are not wanted here")


def insist(x):
    assert x.dim() == 3, "three dimensions are wanted"


def look_into(table):
    return table["missing"]


def through_a_layer(x):
    return nn.Linear(4, 2)(x)


def loss_of_sum(x, y):
    return nn.functional.cross_entropy(x + 1, y)


def spots_after(function, *args) -> tuple[list[TracebackFrame], BaseException]:
    try:
        function(*args)
    except Exception as error:
        return frames_of(error.__traceback__), error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("function", "args", "whose"),
    [
        (multiply, (torch.zeros(2, 3), torch.zeros(4, 5)), "torch"),
        (through_a_layer, (torch.zeros(2, 3),), "torch"),
        (refuse, (torch.zeros(2, 3),), "user"),
        (insist, (torch.zeros(2, 3),), "user"),
        (look_into, ({},), "python"),
    ],
)
def test_who_raised(function, args, whose):
    frames, error = spots_after(function, *args)

    assert who_raised(frames, error, has_tensors=False) == whose


def test_operands_are_named_as_in_the_source():
    frames, _ = spots_after(multiply, torch.zeros(2, 3), torch.zeros(4, 5))
    frame = blamed(frames)
    assert frame is not None

    found = operands_of(frame, below(frames, frame))

    assert [(one.name, list(one.value.shape)) for one in found] == [
        ("left", [2, 3]),
        ("right", [4, 5]),
    ]


def test_computed_argument_has_its_value_and_the_callees_name():
    frames, _ = spots_after(loss_of_sum, torch.zeros(2, 3), torch.zeros(4, dtype=torch.int64))
    frame = blamed(frames)
    assert frame is not None

    found = operands_of(frame, below(frames, frame))

    assert [(one.name, one.argument) for one in found] == [("x + 1", "input"), ("y", "target")]


def test_failed_call_goes_through_with_another_tensor():
    left, right = torch.zeros(2, 3), torch.zeros(4, 3)
    frames, _ = spots_after(multiply, left, right)
    frame = blamed(frames)
    assert frame is not None

    call = failed_call(frame, below(frames, frame))

    assert call is not None
    assert list(call.reexecute((right, right.T)).shape) == [2, 4]


def test_failed_function_call_goes_through_with_another_target():
    labels = torch.zeros(2, dtype=torch.float32)
    frames, _ = spots_after(loss_of_sum, torch.zeros(2, 3), labels)
    frame = blamed(frames)
    assert frame is not None

    call = failed_call(frame, below(frames, frame))

    assert call is not None
    assert call.reexecute((labels, labels.long())).item() == pytest.approx(1.0986, abs=1e-3)


def wrap(left, right):
    try:
        return left @ right
    except RuntimeError as error:
        raise ValueError("the step failed") from error


def complain(table):
    try:
        return table["missing"]
    except KeyError:
        raise ValueError("no such option") from None


def test_exception_that_the_program_wrapped_is_told():
    _, error = spots_after(wrap, torch.zeros(2, 3), torch.zeros(4, 5))

    assert isinstance(told_error(error), RuntimeError)


def test_exception_of_the_programs_own_is_left_as_it_is():
    _, error = spots_after(complain, {})

    assert told_error(error) is error
