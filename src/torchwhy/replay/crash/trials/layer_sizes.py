"""Tries the failing layer with the size of its input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from torchwhy.finding import SourceSpan
from torchwhy.observe.torch_features.layer_kinds import BATCH_NORMS, CONVOLUTIONS, INSTANCE_NORMS
from torchwhy.plain_data import dataclass
from torchwhy.record.events import OperandTrial
from torchwhy.replay.crash.autopsy.whole_data import largest_in_all_data
from torchwhy.replay.crash.frames.construction import argument_of, constructor_names
from torchwhy.replay.crash.frames.failed_call import module_call
from torchwhy.source.values import is_numbers_alone

if TYPE_CHECKING:
    from torchwhy.replay.crash.autopsy.case import Case

CHANNELS = 1
MOST_ROWS = 10_000_000  # beyond, no table is made for a trial


@dataclass(frozen=True)
class Size:
    """Which parameter of a layer's constructor must equal which dimension of its input."""

    parameter: str
    dimension: int


SIZES: dict[Any, Size] = {  # by a class, or by several
    nn.Linear: Size("in_features", -1),
    CONVOLUTIONS: Size("in_channels", CHANNELS),
    BATCH_NORMS: Size("num_features", CHANNELS),
    INSTANCE_NORMS: Size("num_features", CHANNELS),
    nn.GroupNorm: Size("num_channels", CHANNELS),
    nn.LayerNorm: Size("normalized_shape", -1),
    nn.modules.rnn.RNNBase: Size("input_size", -1),
    nn.modules.rnn.RNNCellBase: Size("input_size", -1),
    nn.MultiheadAttention: Size("embed_dim", -1),
}


def size_of(layer: nn.Module) -> Size | None:
    """Return which number of a layer must fit its input."""
    if not type(layer).__module__.startswith("torch.nn."):
        return None
    return next((size for kind, size in SIZES.items() if isinstance(layer, kind)), None)


def given_size(layer: nn.Module, given: torch.Tensor) -> int | None:
    """Return the size of the input that must equal the layer's own."""
    size = size_of(layer)
    if size is None or given.dim() == 0:
        return None
    dimension = size.dimension
    if isinstance(layer, CONVOLUTIONS) and given.dim() == len(layer.kernel_size) + 1:
        dimension = 0  # without a batch dimension
    return int(given.shape[dimension]) if -given.dim() <= dimension < given.dim() else None


def wanted_size(layer: nn.Module) -> int | None:
    """Return the size that the layer expects."""
    size = size_of(layer)
    value = vars(layer).get(size.parameter) if size is not None else None
    if isinstance(value, tuple):
        value = value[-1]
    return value if isinstance(value, int) else None


def resized(layer: nn.Module, new: int) -> nn.Module:
    """Return a layer like this one with another input size."""
    size = size_of(layer)
    assert size is not None
    settings: dict[str, Any] = {}
    for name in constructor_names(layer):
        value = getattr(layer, name, None)
        if name == "bias" and not isinstance(value, bool):
            settings["bias"] = value is not None
        elif name in vars(layer) and not (name == "proj_size" and not value):
            settings[name] = value
    if isinstance(layer, nn.LayerNorm):
        settings[size.parameter] = (*layer.normalized_shape[:-1], new)
    else:
        settings[size.parameter] = new
    weight = next(layer.parameters(), None)
    made = type(layer)(**settings)
    return made if weight is None else made.to(device=weight.device, dtype=weight.dtype)


def resize_layer(case: Case) -> Iterator[OperandTrial]:
    """Try the innermost layer with the size of its input."""
    layer = case.layer
    call = module_call(case.callees, layer) if layer is not None else None
    if layer is None or call is None or not call.args or not isinstance(call.args[0], torch.Tensor):
        return
    new, old = given_size(layer, call.args[0]), wanted_size(layer)
    size = size_of(layer)
    if new is None or old is None or new == old or size is None:
        return
    detail, worked = _tried(resized(layer, new), call.args[0])
    number, diff = _edit(case, layer, size.parameter, new, given=call.args[0])
    yield OperandTrial(
        kind="resize-layer",
        target=case.path_of(layer),
        parameter=size.parameter,
        right=new,
        wrong=old,
        worked=worked,
        detail=detail,
        diff=diff,
        location=number,
    )


def resize_table(case: Case) -> Iterator[OperandTrial]:
    """Try an embedding with enough rows for the largest index."""
    layer = case.layer
    call = module_call(case.callees, layer) if layer is not None else None
    if type(layer) is not nn.Embedding or call is None or not call.args:
        return
    index = call.args[0]
    if not isinstance(index, torch.Tensor) or index.is_floating_point() or not index.numel():
        return
    everywhere = largest_in_all_data(case, index)
    rows = max(int(index.max().item()), -1 if everywhere is None else everywhere) + 1
    if int(index.min().item()) < 0 or not layer.num_embeddings < rows <= MOST_ROWS:
        return
    table = nn.Embedding(
        rows, layer.embedding_dim, device=layer.weight.device, dtype=layer.weight.dtype
    )
    detail, worked = _tried(table, index)
    number, diff = _edit(case, layer, "num_embeddings", rows, given=index)
    yield OperandTrial(
        kind="resize-table",
        target=case.path_of(layer),
        parameter="num_embeddings",
        right=rows,
        wrong=layer.num_embeddings,
        worked=worked,
        detail=detail,
        diff=diff,
        location=number,
        at_least=everywhere is None,
    )


def _edit(
    case: Case, layer: nn.Module, parameter: str, new: int, *, given: torch.Tensor
) -> tuple[SourceSpan | None, str]:
    """Return where a layer's number is written, and the diff that changes it if it is a plain number there."""
    if case.builder is None:
        return None, ""
    made = case.builder.made_at(layer)
    number = case.builder.number_at(
        layer, parameter, is_fed=lambda owner: _is_fed(case, owner, given)
    )
    if number is None:
        return (made.span if made is not None else None), ""
    own = argument_of(made, layer, parameter) if made is not None else None
    plain = next((one for one in (number, own) if one and is_numbers_alone(one.node)), None)
    diff = plain.source.replaced(plain.node, str(new)) if plain is not None else ""
    return number.span, diff


def _is_fed(case: Case, owner: nn.Module, given: torch.Tensor) -> bool:
    """Tell whether a module was called with the very tensor that does not fit into one of its layers."""
    call = module_call(case.frames, owner)
    return call is not None and any(value is given for value in call.args)


def _tried(layer: nn.Module, given: torch.Tensor) -> tuple[str, bool]:
    try:
        result = layer(given)
    except Exception as problem:
        return str(problem)[:200], False
    result = result[0] if isinstance(result, tuple) else result
    return f"gives {list(result.shape)}", True
