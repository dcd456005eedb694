"""Finds labels and indices out of range: how many, which samples, which values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from torchwhy.replay.crash.trials.tensor_changes import layer_call, loss_arguments

if TYPE_CHECKING:
    from torchwhy.replay.crash.autopsy.case import Case

MOST_SHOWN = 8
IGNORED_LABEL = -100  # the default of cross_entropy


def range_facts(case: Case) -> dict[str, Any]:
    """Return the facts about indices out of range; empty if the failing call takes none."""
    loss = loss_arguments(case)
    if loss is not None:
        _, given, target = loss
        if given.dim() == 0 or target.is_floating_point() or target.shape == given.shape:
            return {}
        classes = int(given.shape[1] if given.dim() > 1 else given.shape[0])
        return _facts(target, classes, ignored=_ignored(case))
    found = layer_call(case)
    if found is not None and isinstance(found[0], (nn.Embedding, nn.EmbeddingBag)):
        return _facts(found[2], int(found[0].num_embeddings))
    return _function_facts(case)


def _function_facts(case: Case) -> dict[str, Any]:
    """Return the facts for `F.embedding`, `F.one_hot` and other functions that take indices."""
    for frame in reversed(case.callees):
        given, weight = frame.variables.get("input"), frame.variables.get("weight")
        if (
            isinstance(given, torch.Tensor)
            and isinstance(weight, torch.Tensor)
            and weight.dim() == 2
        ):
            return _facts(given, int(weight.shape[0])) if not given.is_floating_point() else {}
    if "Class values" in str(case.error) and case.call is not None:
        values = [*case.call.args, *case.call.kwargs.values()]
        classes = next((value for value in values if type(value) is int and value > 0), None)
        index = next((value for value in values if isinstance(value, torch.Tensor)), None)
        if classes is not None and index is not None:
            return _facts(index, classes)
    return {}


def _ignored(case: Case) -> int:
    for frame in reversed(case.callees):
        value = frame.variables.get("ignore_index")
        if isinstance(value, int):
            return value
    return IGNORED_LABEL


def _facts(index: torch.Tensor, size: int, *, ignored: int | None = None) -> dict[str, Any]:
    if index.is_floating_point() or index.is_meta or index.numel() == 0:
        return {}
    bad = (index < 0) | (index >= size)
    if ignored is not None:
        bad &= index != ignored
    places = bad.nonzero()
    values = torch.unique(index[bad])
    kept = index[index != ignored] if ignored is not None else index
    return {
        "range_size": float(size),
        "range_count": float(index.numel()),
        "range_bad": float(len(places)),
        "range_positions": [int(place[0]) for place in places[:MOST_SHOWN]]
        if index.dim() and not _are_positions(index)
        else [],
        "range_values": [int(value) for value in values[:MOST_SHOWN]],
        "range_minimum": float(kept.min().item()) if kept.numel() else 0.0,
        "range_maximum": float(kept.max().item()) if kept.numel() else 0.0,
    }


def _are_positions(index: torch.Tensor) -> bool:
    """Tell whether these are positions, which count up or are the same for every sample: no sample is at fault then."""
    if len(index) < 2:
        return False
    first, second = index[:-1], index[1:]
    return bool((first == second).all()) if index.dim() > 1 else bool((second - first == 1).all())
