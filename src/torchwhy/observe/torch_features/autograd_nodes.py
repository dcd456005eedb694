"""Nodes of autograd's graph, their numbers, and the engine that runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchwhy.observe.torch_features.resolve import get, is_there

UNKNOWN = -1  # the number of a node that has none
ROOTS, OPTIONS = "t_outputs", "kwargs"  # variables of the function that calls the engine


def _unknown() -> int:
    return UNKNOWN


def _no_node() -> None:
    return None


are_numbered = is_there("node-numbers")
# Called at every step, so without a function of ours around them: the number that the next autograd node of this thread
# gets, and the node that is being differentiated.
next_node_number: Callable[[], int] = (get("node-numbers") or (_unknown,))[0]
current_node: Callable[[], Any] = (get("current-node") or (_no_node,))[0]


def number_of_node(node: Any) -> int:
    """Return an autograd node's own number; -1 where it has none."""
    get_number = getattr(node, "_sequence_nr", None) if are_numbered else None
    return int(get_number()) if get_number is not None else UNKNOWN


def saved_names(node: Any) -> list[str]:
    """Return the attributes in which a node keeps values for its backward pass."""
    if not is_there("saved-values"):
        return []
    return [name for name in dir(node) if name.startswith("_saved_")]


def replace_engine(
    replace: Callable[[Any, str, Any], object], stand_in: Callable[[Any], Any]
) -> None:
    """Put a stand-in into the place of the engine; its `run_backward` is looked up for every backward pass."""
    from torch.autograd.variable import Variable

    replace(Variable, "_execution_engine", stand_in(Variable._execution_engine))


def backward_entry_code() -> Any:
    """Return the code object whose frame separates backward from what called it; None: no separation."""
    return _code_of("backward-entry")


def root_gradients_code() -> Any:
    """Return the code object that makes the ones a backward pass begins with; None: they are looked at."""
    return _code_of("backward-roots")


def _code_of(feature: str) -> Any:
    found = get(feature)
    return None if found is None else getattr(found[0], "__code__", None)
