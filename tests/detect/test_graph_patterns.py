"""Patterns of operations are found in a forward graph, and only where every arrow holds."""

from __future__ import annotations

import pytest

from torchwhy.detect.rules.graph_patterns import find
from torchwhy.detect.views.graph.graph_queries import ForwardGraph
from torchwhy.record.learning import GraphOperation
from torchwhy.record.trace import Trace


def operation(order: int, name: str, *inputs: int, **more: object) -> GraphOperation:
    return GraphOperation(
        order=order,
        op=f"aten.{name}.default",
        inputs=list(inputs),
        **{"differentiable": True, **more},
    )


LAYER = operation(1, "addmm", parameters=["fc.weight"])
SOFTMAX = operation(2, "_softmax", 1)
COPY = operation(3, "_to_copy", 2)
WEIGHTED = operation(4, "mul", 1, 3)
LOSS = operation(5, "_log_softmax", 3)
OF_DATA = operation(6, "_softmax", -1, differentiable=False)
OTHER_LOSS = operation(7, "_log_softmax", 6)
GRAPH = ForwardGraph(
    Trace((LAYER, SOFTMAX, COPY, WEIGHTED, LOSS, OF_DATA, OTHER_LOSS)),
)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("_softmax → _log_softmax", [(SOFTMAX, LOSS), (OF_DATA, OTHER_LOSS)]),
        ("param → _softmax → _log_softmax", [(SOFTMAX, LOSS)]),
        ("addmm → _softmax|sigmoid → _log_softmax|mul", [(LAYER, SOFTMAX, LOSS)]),
        ("_softmax → mul", []),
        ("_softmax ⇢ mul", [(SOFTMAX, WEIGHTED)]),
        ("* → mul", [(LAYER, WEIGHTED)]),
        ("sigmoid → _log_softmax", []),
    ],
)
def test_a_pattern_finds_each_chain_once_in_the_order_it_ran(pattern, found):
    assert list(find(GRAPH, pattern)) == found
