"""The failing model call once more, under the microscope, in a program that is over anyway.

Only the outermost module's forward runs; random state, buffers and printed output are as if it had not.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from torchwhy.observe.torch_features.torch_internals import (
    force_eager,
    is_compiler_error,
    world_size,
)
from torchwhy.replay.crash.frames.failed_operands import MODULE_CALL
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame, frames_of
from torchwhy.replay.equipment import Stage
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.step.batch_repeater import MutedOutput

# What another look can explain; a program that is out of memory, or stopped itself, is left alone.
REPEATABLE = (RuntimeError, ValueError, IndexError, TypeError, AssertionError, NotImplementedError)
MOST_BUFFER_BYTES = 256 * 2**20


def model_call(frames: list[TracebackFrame]) -> TracebackFrame | None:
    """Return the frame of the outermost call of a module that has weights."""
    for frame in frames:
        owner = frame.variables.get("self")
        if frame.code.co_name != MODULE_CALL or not isinstance(owner, nn.Module):
            continue
        if next(owner.parameters(), None) is not None:
            return frame
    return None


def reexecuted(
    stage: Stage, error: BaseException, frames: list[TracebackFrame]
) -> tuple[list[TracebackFrame], list[Operation]] | None:
    """Repeat the model call; return its frames and operations if it failed in the same way, else None."""
    call = model_call(frames)
    if not isinstance(error, REPEATABLE) or isinstance(error, torch.cuda.OutOfMemoryError):
        return None
    if frames[-1].is_at_raise_of_user:
        return None
    if call is None or world_size() > 1 or stage.microscope.is_on:
        return None
    if not all(batch.untouched() for batch in stage.session.batches.recent):
        return None
    model, args, kwargs = call.variables["self"], call.variables["args"], call.variables["kwargs"]
    if sum(b.numel() * b.element_size() for b in model.buffers()) > MOST_BUFFER_BYTES:
        return None
    problem, operations = _repeat(stage, model, args, kwargs)
    if problem is None or type(problem) is not type(error) or str(problem) != str(error):
        return None
    return frames_of(problem.__traceback__), operations


def eager_error(
    stage: Stage, error: BaseException, frames: list[TracebackFrame]
) -> tuple[BaseException, list[TracebackFrame]]:
    """Return what the model raises when it is not compiled, with its frames, for an error of the compiler."""
    call = model_call(frames)
    if call is None or not is_compiler_error(error):
        return error, frames
    if stage.microscope.is_on or world_size() > 1:
        return error, frames
    problem, _ = _repeat(
        stage, call.variables["self"], call.variables["args"], call.variables["kwargs"]
    )
    if problem is None or not isinstance(problem, REPEATABLE):
        return error, frames
    return problem, frames[: frames.index(call)] + frames_of(problem.__traceback__)


def _repeat(
    stage: Stage, model: nn.Module, args: Any, kwargs: Any
) -> tuple[BaseException | None, list[Operation]]:
    muted = MutedOutput()
    microscope = stage.microscope
    with nothing_left_behind([model]):
        muted.begin()
        stage.modules.tells = False
        stage.look_without_limit(stage.session.sentinel.step)
        try:
            with torch.enable_grad():
                model(*args, **kwargs)
        except Exception as problem:
            return problem, microscope.operations()
        finally:
            microscope.leave()
            stage.nonfinite_log.drop_reaches()
            if stage.compiles:
                force_eager(on=False)
            muted.end()
    return None, []


@contextmanager
def nothing_left_behind(models: list[nn.Module]) -> Iterator[None]:
    """Put random states and the models' buffers back as they were."""
    own = random.getstate()
    held = {
        id(buffer): buffer for model in models for buffer in model.buffers() if not buffer.is_meta
    }
    copies = {key: buffer.detach().clone() for key, buffer in held.items()}
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(own)
        with torch.no_grad():
            for key, buffer in held.items():
                if copies[key].shape == buffer.shape:
                    buffer.copy_(copies[key])
