"""Redoes the operations that made a zero of half precision in float32: is it a zero there, too?"""

from __future__ import annotations

from typing import Any

import torch

from torchwhy.replay.microscope.memory_writers import MemoryWriters
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.nonfinite.wider_dtype import functional_of

HALF = (torch.float16, torch.bfloat16)
MOST_REDONE = 8  # operations in a row; an epsilon or a softmax is one or two operations back
DIFFERENCES = ("sub", "rsub")
MOST_SUBTRACTED = 100_000  # elements of a difference whose operands are kept
MOST_ELEMENTS = 4_000_000  # of a result whose operation is kept


def is_worth_keeping(output: torch.Tensor) -> bool:
    """Tell whether a result may have to be redone: half precision, moderate size, with a zero in it."""
    return (
        output.dtype in HALF
        and output.numel() <= MOST_ELEMENTS
        and bool((output == 0).any().item())
    )


def is_difference(operation: Operation, output: torch.Tensor) -> bool:
    """Tell whether an operation subtracts: where its operands nearly cancel, the result is mostly rounding."""
    return operation.info.base in DIFFERENCES and output.numel() <= MOST_SUBTRACTED


def largest_subtracted(tensor: torch.Tensor, memory_writers: MemoryWriters) -> float | None:
    """Return the largest magnitude in the operands of the difference that made a tensor; None if none did."""
    entry = memory_writers.entry(tensor)
    made = entry.last_operation if entry is not None else None
    if made is None or made.call is None or made.info.base not in DIFFERENCES:
        return None
    _, args, _ = made.call
    sizes = [
        float(value.detach().abs().max().item()) if isinstance(value, torch.Tensor) else abs(value)
        for value in args[:2]
        if isinstance(value, (int, float)) or (isinstance(value, torch.Tensor) and value.numel())
    ]
    return max(sizes, default=None)


def redo_in_float32(tensor: torch.Tensor, memory_writers: MemoryWriters) -> torch.Tensor | None:
    """Return the tensor as float32 would have computed it; None if its operation is unknown."""
    producer = _producer(tensor, memory_writers)
    return None if producer is None else _redone(tensor, memory_writers, producer, MOST_REDONE)


def _producer(tensor: torch.Tensor, memory_writers: MemoryWriters) -> Operation | None:
    """Return the operation that wrote the whole of a half-precision tensor, if its call is known."""
    entry = memory_writers.entry(tensor)
    if tensor.dtype not in HALF or entry is None or entry.last_operation is None:
        return None
    whole = tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()
    return (
        entry.last_operation
        if whole and tensor.is_contiguous() and entry.last_operation.call
        else None
    )


def _redone(
    tensor: torch.Tensor, memory_writers: MemoryWriters, producer: Operation, most: int
) -> torch.Tensor:
    plain = tensor.detach().float()
    if producer.call is None:
        return plain
    function, args, kwargs = producer.call
    functional = functional_of(function)
    if functional is None or torch.Tag.nondeterministic_seeded in function.tags:
        return plain

    def widen(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [widen(item) for item in value]
        if isinstance(value, torch.dtype) and value in HALF:
            return torch.float32
        if not isinstance(value, torch.Tensor) or value.dtype not in HALF:
            return value
        before = _producer(value, memory_writers)
        # Memory that was written since no longer holds the operand.
        if before is None or most <= 1 or before.order >= producer.order:
            return value.detach().float()
        return _redone(value, memory_writers, before, most - 1)

    try:
        with torch.no_grad():
            result = functional(
                *widen(list(args)), **{name: widen(value) for name, value in kwargs.items()}
            )
    except Exception:  # not every operation has a wider version
        return plain
    results = result if isinstance(result, (list, tuple)) else [result]
    fitting = [r for r in results if isinstance(r, torch.Tensor) and r.shape == tensor.shape]
    return fitting[0] if fitting else plain
