"""Finds the parameters whose gradients are sparse, and the layers that make them so."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from torchwhy.observe.program.names import Names
from torchwhy.replay.crash.frames.construction import Builder
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts

MOST_NAMES = 4


def note_sparse_gradients(frames: list[TracebackFrame], hidden: HiddenFacts, names: Names) -> None:
    """Note the parameters with sparse gradients, the optimizer, and where the first of their layers is made."""
    optimizers = [
        owner
        for frame in frames
        if isinstance(owner := frame.variables.get("self"), torch.optim.Optimizer)
    ]
    if optimizers:
        hidden.facts["optimizer"] = type(optimizers[-1]).__name__
    known = names.parameters()
    # Optimizers and the functions that clip gradients read no others than these.
    sparse = [(path, layer, local) for path, layer, local in _sparse(names)]
    hidden.facts["sparse_parameters"] = ", ".join(
        known.get(id(getattr(layer, local)), f"{path}.{local}")
        for path, layer, local in sparse[:MOST_NAMES]
    )
    if not sparse:
        return
    path, layer, _ = sparse[0]
    hidden.facts["sparse_layer"] = path
    files = [one.filename for one in reversed(frames) if one.layer == "user"]
    made = Builder(names, files).made_at(layer)
    if made is not None:
        hidden.places["sparse_layer"] = made.span


def _sparse(names: Names) -> Iterator[tuple[str, nn.Module, str]]:
    """Yield the parameters whose gradient is sparse: the path of the layer, the layer, the parameter's name in it."""
    for _, root in names.roots():
        for layer in root.modules():
            for local, parameter in layer.named_parameters(recurse=False):
                if parameter.grad is not None and parameter.grad.is_sparse:
                    yield names.path_of(layer), layer, local
