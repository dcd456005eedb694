"""Reads the arguments of one operation: the operands of an output, the tensors it writes, non-finite numbers."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from torchwhy.observe.steps import gradients
from torchwhy.replay.microscope.operations import OperationInfo, tensors_in
from torchwhy.replay.nonfinite.nonfinite_log import Call

PLAIN = (torch.Tensor, torch.nn.Parameter)
TRAINING = 5  # position of the flag `training` among the arguments of batch normalisation


def operands_of(position: int, args: Any, kwargs: Any, info: OperationInfo) -> list[torch.Tensor]:
    """Return the operands of one output; of a `_foreach_` operation, those at the same position."""
    if not info.is_of_lists or not args or not isinstance(args[0], (list, tuple)):
        given = tensors_in(args) + tensors_in(kwargs.values())
        # A tensor that is only written is no operand, although it holds the result afterwards.
        written = (
            {id(tensor) for tensor in written_by(info, args, kwargs)}
            if info.is_overwriting
            else set()
        )
        return [tensor for tensor in given if id(tensor) not in written]
    count = len(args[0])
    row = [
        value[position % count]
        if isinstance(value, (list, tuple)) and len(value) == count
        else value
        for value in (*args, *kwargs.values())
    ]
    return tensors_in(row)


def can_look(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor's numbers can be judged: plain, floating, with memory of its own."""
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.numel() > 0
        and (tensor.is_floating_point() or tensor.is_complex())
        and gradients.dense(tensor) is not None  # leaves out tensors without memory of their own
    )


def written_by(info: OperationInfo, args: Any, kwargs: Any) -> list[torch.Tensor]:
    """Return the tensors that an operation writes into; in evaluation, statistics are only read."""
    if info.keeps_statistics and len(args) > TRAINING and args[TRAINING] is False:
        return []
    values = [args[p] if p < len(args) else kwargs.get(name) for p, name in info.writes]
    return tensors_in(values)


def nonfinite_scalars(call: Call) -> list[float]:
    """Return the numbers in a call that are NaN or infinite."""
    _, args, kwargs = call
    return [v for v in (*args, *kwargs.values()) if isinstance(v, float) and not math.isfinite(v)]


def makes_nan_of_infinite_scalar(call: Call, output: torch.Tensor) -> bool:
    """Tell whether an infinite number, and none that is NaN, made a NaN: `mask * -inf` where the mask is 0."""
    numbers = nonfinite_scalars(call)
    return (
        bool(numbers)
        and not any(map(math.isnan, numbers))
        and bool(torch.isnan(output).any().item())
    )


def is_shapeless(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor has rows of several lengths, or no shape yet."""
    return (type(tensor) not in PLAIN and is_lazy(tensor)) or tensor.is_nested
