"""Describes the state of an optimizer, in a checkpoint or alive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from torchwhy.record.kept.kept_state import CheckpointEntry

RATES = ("lr", "initial_lr")


def entry_of_optimizer(key: str, value: Mapping[str, Any]) -> CheckpointEntry:
    """Return the description of an optimizer's state in a checkpoint."""
    groups = [group for group in value["param_groups"] if isinstance(group, Mapping)]
    return CheckpointEntry(
        key=key,
        kind="optimizer",
        size=sizes_of(value["state"]),
        groups=[len(group.get("params", ())) for group in groups],
        rates=[float(group.get("lr") or 0.0) for group in groups],
        initial_rates=[float(g.get("initial_lr") or g.get("lr") or 0.0) for g in groups],
        settings=numbers_in(groups[0]) if groups else {},
    )


def sizes_of(state: Mapping[Any, Any]) -> int:
    """Return how many tensors of more than one number an optimizer keeps of its steps."""
    return sum(
        isinstance(value, torch.Tensor) and value.dim() > 0
        for one in state.values()
        if isinstance(one, Mapping)
        for value in one.values()
    )


def numbers_in(group: Mapping[str, Any]) -> dict[str, float]:
    """Return the settings of a group of parameters that are numbers, rates left out."""
    found: dict[str, float] = {}
    for name, value in group.items():
        if name in RATES:
            continue
        values = value if isinstance(value, tuple) else (value,)
        if all(isinstance(one, (int, float)) for one in values):
            found |= {f"{name}.{place}": float(one) for place, one in enumerate(values)}
    return found
