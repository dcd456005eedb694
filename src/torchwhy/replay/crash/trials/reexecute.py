"""Runs the failing model call again under the microscope, in a program that is ending anyway.

Only the outermost module's forward runs; random state, buffers and printed output stay as if it had not.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from torchwhy.observe.devices import generator_states
from torchwhy.observe.devices.device_failures import is_of_device
from torchwhy.observe.probes.batches import BatchKeeper
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.torch_internals import is_compiler_error, world_size
from torchwhy.replay.crash.frames.failed_operands import MODULE_CALL
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame, frames_of
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.microscope.module_stack import ModuleStack
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.nonfinite.nonfinite_log import NonfiniteLog
from torchwhy.replay.observing.switch import MicroscopeSwitch
from torchwhy.replay.step.muted_output import MutedOutput

# Exceptions that a second run can explain; not that of a program that is out of memory.
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


class Reexecution:
    """Runs the failing model call again and returns what the microscope saw of it."""

    def __init__(
        self,
        microscope: Microscope,
        modules: ModuleStack,
        switch: MicroscopeSwitch,
        *,
        nonfinite_log: NonfiniteLog,
        batches: BatchKeeper,
        state: TrainingState,
    ) -> None:
        self._microscope = microscope
        self._modules = modules
        self._switch = switch
        self._nonfinite_log = nonfinite_log
        self._batches = batches
        self._state = state

    def of(
        self, error: BaseException, frames: list[TracebackFrame]
    ) -> tuple[list[TracebackFrame], list[Operation]] | None:
        """Repeat the model call; return its frames and operations if it fails in the same way, else None."""
        call = model_call(frames)
        if not isinstance(error, REPEATABLE) or isinstance(error, torch.cuda.OutOfMemoryError):
            return None
        if is_of_device(error):
            return None  # nothing runs on that device any more
        if frames[-1].is_at_raise_of_user:
            return None
        if call is None or world_size() > 1 or self._microscope.is_on:
            return None
        if not all(batch.untouched() for batch in self._batches.recent):
            return None
        buffers = call.variables["self"].buffers()
        if sum(b.numel() * b.element_size() for b in buffers) > MOST_BUFFER_BYTES:
            return None
        problem, operations = self._repeat(call)
        if problem is None or type(problem) is not type(error) or str(problem) != str(error):
            return None
        return frames_of(problem.__traceback__), operations

    def eager_error(
        self, error: BaseException, frames: list[TracebackFrame]
    ) -> tuple[BaseException, list[TracebackFrame]]:
        """Return, for an error of the compiler, what the model raises without it, with the frames."""
        call = model_call(frames)
        if call is None or not is_compiler_error(error):
            return error, frames
        if self._microscope.is_on or world_size() > 1:
            return error, frames
        problem, _ = self._repeat(call)
        if problem is None or not isinstance(problem, REPEATABLE):
            return error, frames
        return problem, frames[: frames.index(call)] + frames_of(problem.__traceback__)

    def _repeat(self, call: TracebackFrame) -> tuple[BaseException | None, list[Operation]]:
        model, muted_output = call.variables["self"], MutedOutput()
        with nothing_left_behind([model]):
            muted_output.begin()
            self._modules.tells = False
            self._switch.put_on_without_limit(self._state.step)
            try:
                with torch.enable_grad():
                    model(*call.variables["args"], **call.variables["kwargs"])
            except Exception as problem:
                return problem, self._microscope.operations()
            finally:
                self._microscope.leave()
                self._nonfinite_log.drop_reaches()
                self._switch.end_eager()
                muted_output.end()
        return None, []


@contextmanager
def nothing_left_behind(models: list[nn.Module]) -> Iterator[None]:
    """Restore random states and the models' buffers."""
    own = random.getstate()
    held = {
        id(buffer): buffer for model in models for buffer in model.buffers() if not buffer.is_meta
    }
    copies = {key: buffer.detach().clone() for key, buffer in held.items()}
    of_torch = generator_states.take()
    try:
        yield
    finally:
        of_torch.put_back()
        random.setstate(own)
        with torch.no_grad():
            for key, buffer in held.items():
                if copies[key].shape == buffer.shape:
                    buffer.copy_(copies[key])
