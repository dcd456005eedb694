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


def _function_of_loss(kind: type[Any]) -> str | None:
    """Return the name of the function of `torch.nn.functional` that a class of losses calls."""
    code = getattr(getattr(kind, "forward", None), "__code__", None)
    called = [name for name in getattr(code, "co_names", ()) if name in vars(nn.functional)]
    return called[-1] if called else None


# Classes of losses that torch ships, each with the name of its function.
LOSS_FUNCTIONS: dict[type[Any], str] = {
    kind: name
    for kind in vars(nn).values()
    if isinstance(kind, type)
    and issubclass(kind, LOSSES)
    and (name := _function_of_loss(kind)) is not None
}
