"""Copies what an operation is about to overwrite."""

from __future__ import annotations

from typing import Any

import torch

from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.replay.microscope.memory_writers import MemoryWriters
from torchwhy.replay.microscope.operations import OperationInfo


@unseen
def with_copies(
    memory_writers: MemoryWriters, info: OperationInfo, args: Any, kwargs: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments, with copies of those that the operation writes into."""
    arguments, keywords = list(args), dict(kwargs)
    for position, name in info.writes:
        if position < len(arguments):
            arguments[position] = _copy(memory_writers, arguments[position])
        elif name in keywords:
            keywords[name] = _copy(memory_writers, keywords[name])
    return tuple(arguments), keywords


def _copy(memory_writers: MemoryWriters, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        copy = value.detach().clone()
        memory_writers.copied(value, copy)
        return copy
    if isinstance(value, (list, tuple)):
        return [_copy(memory_writers, item) for item in value]
    return value
