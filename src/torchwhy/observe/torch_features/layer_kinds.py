"""The layers and losses of torch by kind, for `isinstance`; where a base class is missing, its public descendants."""

from __future__ import annotations

from typing import Any

from torch import nn

from torchwhy.observe.torch_features.resolve import get

Kinds = tuple[type[Any], ...]


def _called(*words: str) -> Kinds:
    found = [kind for name, kind in vars(nn).items() if any(word in name for word in words)]
    return tuple(kind for kind in found if isinstance(kind, type))


PUBLIC = (
    _called("BatchNorm", "InstanceNorm"),
    _called("BatchNorm"),
    _called("Conv"),
    _called("Dropout"),
    _called("InstanceNorm"),
    tuple(kind for kind in _called("Loss") if kind is not nn.AdaptiveLogSoftmaxWithLoss),
)
# In the order of the table.
NORMS, BATCH_NORMS, CONVOLUTIONS, DROPOUTS, INSTANCE_NORMS, LOSSES = get("layer-bases") or PUBLIC
