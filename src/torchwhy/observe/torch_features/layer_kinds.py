"""The layers and losses of torch by kind, for `isinstance`; where a base class is missing, its public descendants."""

from __future__ import annotations

from typing import Any

from torch import nn

from torchwhy.observe.torch_features.resolve import get

Kinds = tuple[type[Any], ...]

_BATCH_NORMS: Kinds = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
_INSTANCE_NORMS: Kinds = (nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)
PUBLIC: tuple[Kinds, ...] = (
    (*_BATCH_NORMS, *_INSTANCE_NORMS),
    _BATCH_NORMS,
    (
        nn.Conv1d,
        nn.Conv2d,
        nn.Conv3d,
        nn.ConvTranspose1d,
        nn.ConvTranspose2d,
        nn.ConvTranspose3d,
    ),
    (
        nn.Dropout,
        nn.Dropout1d,
        nn.Dropout2d,
        nn.Dropout3d,
        nn.AlphaDropout,
        nn.FeatureAlphaDropout,
    ),
    _INSTANCE_NORMS,
    tuple(kind for name, kind in vars(nn).items() if name.endswith("Loss")),
)

# In the order of the table.
NORMS, BATCH_NORMS, CONVOLUTIONS, DROPOUTS, INSTANCE_NORMS, LOSSES = get("layer-bases") or PUBLIC
