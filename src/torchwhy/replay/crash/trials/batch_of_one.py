"""Tries the whole model on its input as a batch of one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import torch

from torchwhy.observe.program.frames import span_of
from torchwhy.record.events import OperandTrial
from torchwhy.replay.crash.frames.failed_operands import operands_of
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame, below
from torchwhy.replay.crash.trials.reexecute import model_call
from torchwhy.replay.crash.trials.tensor_changes import diff_of, layer_call, operand_of

if TYPE_CHECKING:
    from torchwhy.replay.crash.autopsy.case import Case

# Convolutions accept a single sample; the sizes go wrong only after the flattening.
OF_ONE = re.compile(r"more than 1 (value per channel|spatial element)")
WRONG_SIZES = re.compile(r"cannot be multiplied|size mismatch, got input")


def add_batch_to_model(case: Case) -> Iterator[OperandTrial]:
    """Try the model on its input as a batch of one, if an inner layer got a wrong number of features."""
    call = model_call(case.frames)
    if case.caught or call is None or not WRONG_SIZES.search(str(case.error)):
        return
    args = call.variables["args"]
    place = next((i for i, one in enumerate(args) if isinstance(one, torch.Tensor)), None)
    inner = layer_call(case)
    if place is None or (inner is not None and inner[2] is args[place]):
        return
    caller = next(
        (one for one in reversed(case.frames[: case.frames.index(call)]) if one.layer == "user"),
        None,
    )
    if caller is None:
        return
    callees = below(case.frames, caller)
    outer = replace(case, frame=caller, callees=callees, operands=operands_of(caller, callees))
    operand = operand_of(outer, args[place])
    trial = OperandTrial(
        kind="add-batch-to-model",
        target=operand.name if operand is not None else "",
        method=".unsqueeze(0)",
        worked=False,
        location=span_of(caller.site),
    )
    problem = _problem_with(call, place, args[place].unsqueeze(0))
    yield msgspec.structs.replace(
        trial,
        worked=problem is None,
        detail=problem or "",
        diff=diff_of(outer, operand, ".unsqueeze(0)") if operand is not None else "",
    )
    if problem is not None and OF_ONE.search(problem):  # The sizes fit: several samples may work.
        problem = _problem_with(call, place, torch.stack([args[place]] * 2))
        yield msgspec.structs.replace(
            trial,
            kind="add-batch-of-two-to-model",
            worked=problem is None,
            detail=problem or "",
        )


def _problem_with(call: TracebackFrame, place: int, batch: torch.Tensor) -> str | None:
    """Return what the model raises if it gets a batch at one place; None if it works."""
    args = call.variables["args"]
    try:
        call.variables["self"](*args[:place], batch, *args[place + 1 :], **call.variables["kwargs"])
    except Exception as problem:
        return str(problem)[:200]
    return None
