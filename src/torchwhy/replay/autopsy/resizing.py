"""Trials of a layer with another size: the same layer, made to fit what it was given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from torchwhy.record.events import Trial
from torchwhy.replay.autopsy.calls import module_call
from torchwhy.replay.autopsy.construction import argument_of, constructor_names
from torchwhy.replay.autopsy.sources import replaced

if TYPE_CHECKING:
    from torchwhy.replay.autopsy.case import Case

CHANNELS = 1


@dataclass(frozen=True)
class Size:
    """Which parameter of a layer's constructor must equal which dimension of its input."""

    parameter: str
    dimension: int


SIZES: dict[type[nn.Module], Size] = {
    nn.Linear: Size("in_features", -1),
    nn.modules.conv._ConvNd: Size("in_channels", CHANNELS),
    nn.modules.batchnorm._BatchNorm: Size("num_features", CHANNELS),
    nn.modules.instancenorm._InstanceNorm: Size("num_features", CHANNELS),
    nn.GroupNorm: Size("num_channels", CHANNELS),
    nn.LayerNorm: Size("normalized_shape", -1),
    nn.modules.rnn.RNNBase: Size("input_size", -1),
    nn.modules.rnn.RNNCellBase: Size("input_size", -1),
    nn.MultiheadAttention: Size("embed_dim", -1),
}


def size_of(layer: nn.Module) -> Size | None:
    """Return which number of a layer is tied to its input."""
    if not type(layer).__module__.startswith("torch.nn."):
        return None
    return next((size for kind, size in SIZES.items() if isinstance(layer, kind)), None)


def given_size(layer: nn.Module, given: torch.Tensor) -> int | None:
    """Return the size that the layer was given where it wants its own."""
    size = size_of(layer)
    if size is None or given.dim() == 0:
        return None
    dimension = size.dimension
    if isinstance(layer, nn.modules.conv._ConvNd) and given.dim() == len(layer.kernel_size) + 1:
        dimension = 0  # without a batch dimension
    return int(given.shape[dimension]) if -given.dim() <= dimension < given.dim() else None


def wanted_size(layer: nn.Module) -> int | None:
    """Return the size that the layer wants."""
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


def resize_layer(case: Case) -> Iterator[Trial]:
    """Try the innermost layer with the size of what it was given."""
    layer = case.layer
    call = module_call(case.callees, layer) if layer is not None else None
    if layer is None or call is None or not call.args or not isinstance(call.args[0], torch.Tensor):
        return
    new, old = given_size(layer, call.args[0]), wanted_size(layer)
    size = size_of(layer)
    if new is None or old is None or new == old or size is None:
        return
    detail, worked = _tried(layer, new, call.args[0])
    made = case.builder.made_at(layer) if case.builder is not None else None
    number = None
    if case.builder is not None:
        number = case.builder.number_at(
            layer, size.parameter, is_fed=lambda owner: _is_fed(case, owner, call.args[0])
        )
    diff = ""
    if made is not None and number is not None and _is_plain(number.node):
        diff = replaced(number.filename, number.node, str(new))
    elif made is not None and isinstance(made.node, ast.Call):
        given = argument_of(made.node, layer, size.parameter)
        diff = (
            replaced(made.filename, given, str(new))
            if given is not None and _is_plain(given)
            else ""
        )
    kind = type(layer).__name__
    yield Trial(
        kind="resize-layer",
        change=f"make {case.path_of(layer)} an nn.{kind} with {size.parameter}={new} in place of {old}",
        worked=worked,
        detail=detail,
        diff=diff,
        location=number.span if number is not None else made.span if made is not None else None,
    )


def _is_fed(case: Case, owner: nn.Module, given: torch.Tensor) -> bool:
    """Tell whether a module was called with just the tensor that does not fit into a layer of it."""
    call = module_call(case.spots, owner)
    return call is not None and any(value is given for value in call.args)


def _tried(layer: nn.Module, new: int, given: torch.Tensor) -> tuple[str, bool]:
    try:
        result = resized(layer, new)(given)
    except Exception as problem:
        return str(problem)[:200], False
    result = result[0] if isinstance(result, tuple) else result
    return f"gives {list(result.shape)}", True


def _is_plain(node: ast.expr) -> bool:
    """Tell whether an expression is written in numbers alone: `1050`, `16 * 5 * 5`."""
    return all(
        isinstance(part, (ast.Constant, ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop))
        for part in ast.walk(node)
    )
