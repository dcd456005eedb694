"""The ranks over which wrappers of torch average the gradients of a model."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from torchwhy.observe.program.names import Names
from torchwhy.observe.torch_features.torch_internals import world_size
from torchwhy.record.wiring import GradientsShared


def gradient_groups(names: Names) -> Iterator[GradientsShared]:
    """Yield the wrappers of all known models, each group of ranks once; no rank talks to another for this."""
    if world_size() == 1:
        return
    told: list[GradientsShared] = []
    for _, root in names.roots():
        for module in root.modules():
            event = _group_of(module)
            if event is not None and len(event.ranks) > 1 and event not in told:
                told.append(event)
                yield event


def _group_of(module: nn.Module) -> GradientsShared | None:
    fsdp = sys.modules.get("torch.distributed.fsdp")
    for kind in (
        nn.parallel.DistributedDataParallel,
        getattr(fsdp, "FullyShardedDataParallel", None),
    ):
        if kind is not None and isinstance(module, kind):
            group: Any = module.process_group
            ranks = torch.distributed.get_process_group_ranks(group)
            return GradientsShared(wrapper=kind.__name__, ranks=sorted(map(int, ranks)))
    kind = getattr(fsdp, "FSDPModule", None)
    if kind is None or not isinstance(module, kind):
        return None
    meshes = (getattr(one, "device_mesh", None) for one in module.parameters())
    mesh = next((one for one in meshes if one is not None), None)
    if mesh is None or mesh.ndim > 1:  # Another dimension may hold ranks that share one batch.
        return None
    return GradientsShared(wrapper="fully_shard", ranks=sorted(map(int, mesh.mesh.tolist())))
