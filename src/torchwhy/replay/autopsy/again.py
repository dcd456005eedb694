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

from torchwhy.observe import torch_compat
from torchwhy.replay.autopsy.operands import MODULE_CALL
from torchwhy.replay.autopsy.spots import Spot, spots_of
from torchwhy.replay.handout import Quiet
from torchwhy.replay.operations import Operation
from torchwhy.replay.stage import Stage

MOST_BUFFER_BYTES = 256 * 2**20


def model_call(spots: list[Spot]) -> Spot | None:
    """Return the frame of the outermost call of a module that has weights."""
    for spot in spots:
        owner = spot.variables.get("self")
        if spot.frame.f_code.co_name == MODULE_CALL and isinstance(owner, nn.Module):
            if next(owner.parameters(), None) is not None:
                return spot
    return None


def seen_again(
    stage: Stage, error: BaseException, spots: list[Spot]
) -> tuple[list[Spot], list[Operation]] | None:
    """Repeat the model call; return its frames and operations if it failed in the same way, else None."""
    call = model_call(spots)
    if call is None or torch_compat.world_size() > 1 or stage.microscope.is_on:
        return None
    if not all(batch.untouched() for batch in stage.session.batches.recent):
        return None
    model, args, kwargs = call.variables["self"], call.variables["args"], call.variables["kwargs"]
    if sum(b.numel() * b.element_size() for b in model.buffers()) > MOST_BUFFER_BYTES:
        return None
    problem, operations = _repeat(stage, model, args, kwargs)
    if problem is None or type(problem) is not type(error) or str(problem) != str(error):
        return None
    return spots_of(problem.__traceback__), operations


def _repeat(stage: Stage, model: nn.Module, args: Any, kwargs: Any) -> tuple[BaseException | None, list[Operation]]:
    quiet = Quiet()
    microscope = stage.microscope
    with _nothing_left_behind(model):
        quiet.begin()
        stage.modules.tells = False
        stage.look_without_limit(stage.session.sentinel.step)
        try:
            with torch.enable_grad():
                model(*args, **kwargs)
        except Exception as problem:  # noqa: BLE001 - it is the one we want to see
            return problem, microscope.operations()
        finally:
            microscope.leave()
            stage.book.drop_reaches()
            if stage.compiles:
                torch_compat.force_eager(on=False)
            quiet.end()
    return None, []


@contextmanager
def _nothing_left_behind(model: nn.Module) -> Iterator[None]:
    """Put random states and the model's buffers back as they were."""
    state, own = torch.get_rng_state(), random.getstate()
    buffers = {name: buffer.detach().clone() for name, buffer in model.named_buffers() if not buffer.is_meta}
    try:
        yield
    finally:
        torch.set_rng_state(state)
        random.setstate(own)
        with torch.no_grad():
            for name, buffer in model.named_buffers():
                if name in buffers and buffers[name].shape == buffer.shape:
                    buffer.copy_(buffers[name])


