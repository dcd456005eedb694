"""The place that one would change for an operation: its expression, or the constructor of a layer that torch calls."""

from __future__ import annotations

from dataclasses import replace

from torchwhy.finding import SourceSpan
from torchwhy.record.events import ModuleCalled
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace
from torchwhy.source.analyses.made_places import layer_made_at

SEQUENCE = "Sequential"  # The container whose layers the program does not call itself.
SET_WHEN_MADE = (
    "Loss",
    "Softmax",
    "Softmax2d",
)  # Classes of torch whose names end so get `reduction` or `dim`.


def place_of_activation(trace: Trace, operation: GraphOperation) -> SourceSpan | None:
    """Return the call of an activation, or its constructor if it is a layer of a Sequential."""
    kinds = _kinds(trace)
    owner = (operation.module or "").rpartition(".")[0]
    made = _made_at(trace, operation, kinds) if kinds.get(owner) == SEQUENCE else None
    return made or operation.made_at or operation.location


def place_of_setting(trace: Trace, operation: GraphOperation) -> SourceSpan | None:
    """Return where a setting of an operation is written, such as `dim`: in a layer's constructor, or in the call."""
    kinds = _kinds(trace)
    is_torchs = kinds.get(operation.module or "", "").endswith(SET_WHEN_MADE)
    made = _made_at(trace, operation, kinds) if is_torchs else None
    return made or operation.made_at or operation.location


def _kinds(trace: Trace) -> dict[str, str]:
    return {call.path: call.kind for call in trace.of(ModuleCalled)}


def _made_at(trace: Trace, operation: GraphOperation, kinds: dict[str, str]) -> SourceSpan | None:
    made = layer_made_at(list(trace.files.values()), operation.module or "", kinds)
    return replace(made, module=operation.module) if made is not None else None
