"""Tries a loss with its target squeezed, flattened, as class numbers, in another dtype, or swapped with the input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch

from torchwhy.record.events import OperandTrial
from torchwhy.replay.crash.frames.failed_call import Call
from torchwhy.replay.crash.trials.tensor_changes import (
    METHODS,
    Change,
    attempt,
    cast,
    loss_arguments,
    operand_of,
)

if TYPE_CHECKING:
    from torchwhy.replay.crash.autopsy.case import Case


def change_target(case: Case) -> Iterator[OperandTrial]:
    """Try the loss with its target (or its input) in another shape."""
    found = loss_arguments(case)
    if found is None:
        return
    call, given, target = found
    for kind, text, change in _target_shapes(given, target):
        yield attempt(case, call, target, kind=kind, text=text, change=change)
    if given.dim() == target.dim() + 1 and given.dim() > 2 and given.shape[:-1] == target.shape:
        last = given.dim() - 1
        yield attempt(
            case,
            call,
            given,
            kind="class-dimension",
            text=f".movedim({last}, 1)",
            change=lambda t: t.movedim(last, 1),
        )
    if given.dim() == target.dim() + 1 and given.shape[1] == 1:
        yield attempt(
            case,
            call,
            given,
            kind="squeeze-input",
            text=".squeeze(1)",
            change=lambda t: t.squeeze(1),
        )
    if given.dim() == 1 and target.numel() == 1:
        yield attempt(
            case,
            call,
            given,
            kind="batch-of-one",
            text=".unsqueeze(0)",
            change=lambda t: t.unsqueeze(0),
        )
    if not given.is_floating_point() and target.is_floating_point():
        yield _swapped(case, call, given, target)


def _target_shapes(given: torch.Tensor, target: torch.Tensor) -> Iterator[tuple[str, str, Change]]:
    if target.dim() > 1 and target.shape[1] == 1 and target.dim() in (given.dim(), given.dim() + 1):
        yield "squeeze-target", ".squeeze(1)", lambda t: t.squeeze(1)
    if target.dim() == given.dim() - 1 and given.shape[-1] == 1:
        yield "unsqueeze-target", ".unsqueeze(1)", lambda t: t.unsqueeze(1)
    if target.shape == given.shape and target.dim() == 2:
        yield "class-numbers", ".argmax(1)", lambda t: t.argmax(1)
    if target.numel() == given.numel() and target.shape != given.shape:
        yield (
            "reshape-target",
            f".reshape({', '.join(map(str, given.shape))})",
            lambda t: t.reshape(given.shape),
        )
    if target.dim() == 2 and given.dim() == 2 and given.shape[0] == target.numel():
        yield "flatten-target", ".flatten()", lambda t: t.flatten()


def cast_target(case: Case) -> Iterator[OperandTrial]:
    """Try the loss with its target in another dtype."""
    found = loss_arguments(case)
    if found is None:
        return
    call, given, target = found
    if target.dtype != torch.int64:
        yield cast(case, call, target, torch.int64, kind="long-target")
    if given.is_floating_point() and target.dtype != given.dtype:
        name = {torch.float32: "float", torch.float64: "double", torch.float16: "half"}.get(
            given.dtype
        )
        if name is not None:
            yield attempt(
                case, call, target, kind="float-target", text=f".{name}()", change=METHODS[name]
            )
    if given.dtype == torch.float64 and target.dtype == torch.float32:
        yield cast(case, call, given, torch.float32, kind="cast-input")


def shift_target(case: Case) -> Iterator[OperandTrial]:
    """Try labels that count from 1 as labels that count from 0."""
    found = loss_arguments(case)
    if found is None or found[2].is_floating_point() or found[2].numel() == 0 or found[1].dim() < 1:
        return
    call, given, target = found
    classes = given.shape[1] if given.dim() > 1 else given.shape[0]
    if int(target.min().item()) >= 1 and int(target.max().item()) == classes:
        yield attempt(case, call, target, kind="shift-target", text=" - 1", change=lambda t: t - 1)


def _swapped(case: Case, call: Call, given: torch.Tensor, target: torch.Tensor) -> OperandTrial:
    names = [one.name if (one := operand_of(case, value)) else "?" for value in (given, target)]
    try:
        call.reexecute((given, target), (target, given))
        worked, detail = True, ""
    except Exception as problem:
        worked, detail = False, str(problem)[:200]
    return OperandTrial(
        kind="swap-arguments",
        order=[names[1], names[0]],
        worked=worked,
        detail=detail,
    )
