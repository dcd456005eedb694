"""Backward passes whose gradients add up before a step, and whether the program divides its loss by their number."""

from __future__ import annotations

import math

from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of
from torchwhy.record.learning import ParameterCensus, StepCalls
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

SCALES = {"div", "mul"}


def undivided_passes(trace: Trace, optimizer: int) -> int:
    """Return how many backward passes add up before a step of an optimizer; 1 if the loss is divided accordingly."""
    census = next((one for one in trace.of(ParameterCensus) if one.optimizer == optimizer), None)
    passes = 1 if census is None else census.backwards
    stepping = {step.optimizer for step in trace.steps}
    if len(stepping) > 1:  # The passes of the others are among them.
        return 1
    if passes < 2 or not _are_of_one_place(trace) or _is_divided(trace, passes):
        return 1
    return passes


def _are_of_one_place(trace: Trace) -> bool:
    """Tell whether the passes of the first step are those of one statement; two statements send two losses."""
    calls = next((one.calls for one in trace.of(StepCalls)), [])
    return len({call.location for call in calls if call.name == "backward"}) == 1


def _is_divided(trace: Trace, passes: int) -> bool:
    graph = ForwardGraph(trace)
    root = next((one for one in graph.losses if one.order is not None), None)
    made = None if root is None else graph.operation(root.order)
    if made is None or base_of(made) not in SCALES:
        return False
    scalars = [one for one in made.scalars.values() if isinstance(one, int | float)]
    factors = [abs(decode(one)) for one in scalars]
    wanted = float(passes) if base_of(made) == "div" else 1.0 / passes
    return any(math.isclose(one, wanted, rel_tol=1e-6) for one in factors)


def advice_for_passes(passes: int) -> tuple[str, ...]:
    """Return the advice to divide the loss; nothing for a single pass."""
    if passes < 2:
        return ()
    return (
        f"divide the loss by {passes}: the gradients of {passes} backward passes add up before each step",
    )
