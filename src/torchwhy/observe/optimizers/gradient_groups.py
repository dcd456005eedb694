"""The ranks over which wrappers of torch average the gradients of a model."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from torchwhy.observe.program.names import Names
from torchwhy.observe.torch_features.torch_internals import changes_reduction, world_size
from torchwhy.record.ranks.rank_events import GradientsShared

NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)  # Not SyncBatchNorm.


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


def averaging_wrappers(names: Names) -> list[nn.parallel.DistributedDataParallel]:
    """Return the DistributedDataParallel modules of all known models that average gradients over all ranks."""
    found = [
        module
        for _, root in names.roots()
        for module in root.modules()
        if isinstance(module, nn.parallel.DistributedDataParallel)
    ]
    return [one for one in found if _averages_over_all(one)]


def _averages_over_all(wrapper: nn.parallel.DistributedDataParallel) -> bool:
    group: Any = wrapper.process_group
    size = torch.distributed.get_world_size(group)
    return size == world_size() and not changes_reduction(wrapper)


def averaged_parameters(wrapper: nn.parallel.DistributedDataParallel) -> list[nn.Parameter]:
    """Return the parameters whose gradients a wrapper averages."""
    ignored = getattr(wrapper, "parameters_to_ignore", ())
    return [
        parameter
        for name, parameter in wrapper.module.named_parameters()
        if parameter.requires_grad and name not in ignored
    ]


def _group_of(module: nn.Module) -> GradientsShared | None:
    fsdp = sys.modules.get("torch.distributed.fsdp")
    for kind in (
        nn.parallel.DistributedDataParallel,
        getattr(fsdp, "FullyShardedDataParallel", None),
    ):
        if kind is not None and isinstance(module, kind):
            group: Any = module.process_group
            ranks = torch.distributed.get_process_group_ranks(group)
            return _shared(kind.__name__, ranks, module)
    kind = getattr(fsdp, "FSDPModule", None)
    if kind is None or not isinstance(module, kind):
        return None
    meshes = (getattr(one, "device_mesh", None) for one in module.parameters())
    mesh = next((one for one in meshes if one is not None), None)
    if mesh is None or mesh.ndim > 1:  # Another dimension may hold ranks that share one batch.
        return None
    return _shared("fully_shard", mesh.mesh.tolist(), module)


def _shared(wrapper: str, ranks: list[int], module: nn.Module) -> GradientsShared:
    return GradientsShared(
        wrapper=wrapper,
        ranks=sorted(map(int, ranks)),
        own_norms=sum(type(one) in NORMS and one.training for one in module.modules()),
    )
