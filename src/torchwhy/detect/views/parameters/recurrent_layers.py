"""Layers of recurrent networks that get no gradient, because the program uses the state of another layer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of
from torchwhy.record.events import Weights
from torchwhy.record.learning import GraphOperation, ParameterSeen
from torchwhy.record.numbers import decode

RECURRENT = ("LSTM", "GRU", "RNN")
REVERSE = "_reverse"
ENOUGH_MEASURED = 3  # steps at which the gradients must be 0


def unused_layers(parameters: Sequence[ParameterSeen]) -> dict[str, list[ParameterSeen]]:
    """Return the parameters of whole layers or directions whose gradients are 0, by module.

    Only modules of which another layer has gradients. Single weights may have gradients of 0 for other reasons: those
    of the recurrence in a sequence of one step.
    """
    found: dict[str, list[ParameterSeen]] = {}
    layers: dict[tuple[str, str], list[ParameterSeen]] = {}
    for one in parameters:
        if (
            one.owner in RECURRENT
            and one.module is not None
            and one.requires_grad
            and one.in_optimizer
        ):
            layers.setdefault((one.module, _layer_of(one.name)), []).append(one)
    live = {
        module for (module, _), ones in layers.items() if any(p.gradient == "nonzero" for p in ones)
    }
    for (module, _), ones in layers.items():
        if module in live and len(ones) > 1 and all(one.gradient == "zero" for one in ones):
            found.setdefault(module, []).extend(ones)
    return found


def are_always_zero(measured: Sequence[Weights], names: Iterable[str]) -> bool:
    """Tell whether the gradients of parameters are exactly 0 at every measured step."""
    if len(measured) < ENOUGH_MEASURED:
        return False
    wanted = set(names)
    for weights in measured:
        sizes = dict(zip(weights.names, weights.gradient_rms, strict=False))
        if not wanted <= sizes.keys() or any(decode(sizes[name]) for name in wanted):
            return False
    return True


def chosen_state(graph: ForwardGraph, module: str) -> GraphOperation | None:
    """Return the selection of one of several final states outside of a recurrent module: `h_n[0]`."""
    for view in graph.views():
        source = graph.source(view)
        if base_of(view) != "select" or view.issuer != "user" or source is None:
            continue
        is_own = source.module is not None and module.endswith(source.module)
        axis, shape = view.scalars.get("1"), view.input_shapes[0]
        if (
            is_own
            and view.module != source.module
            and axis == 0
            and len(shape) == 3
            and shape[0] > 1
        ):
            return view
    return None


def lie_beyond(
    chosen: GraphOperation, unused: Sequence[ParameterSeen], parameters: Sequence[ParameterSeen]
) -> bool:
    """Tell whether parameters belong to layers above that of the chosen state, or to its other direction.

    Layers below it feed it: if their gradients are 0, the state that was chosen is not the reason.
    """
    module, index = unused[0].module, chosen.scalars.get("2")
    if not isinstance(index, (int, float)):
        return False
    own = [_layer_of(one.name) for one in parameters if one.module == module]
    directions = 2 if any(name.endswith(REVERSE) for name in own) else 1
    layer, direction = divmod(int(index) % chosen.input_shapes[0][0], directions)
    for one in unused:
        name = _layer_of(one.name)
        number = name.removesuffix(REVERSE).removeprefix("l")
        if not number.isdigit() or int(number) < layer:
            return False
        if int(number) == layer and name.endswith(REVERSE) == bool(direction):
            return False
    return True


def _layer_of(name: str) -> str:
    """Return `l1_reverse` for `rnn.weight_ih_l1_reverse`."""
    return name.rpartition(".")[2].partition("_l")[2]
