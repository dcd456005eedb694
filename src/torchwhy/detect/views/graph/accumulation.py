"""Backward passes whose gradients add up before a step, and whether the program divides its loss by their number."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import mode

from torchwhy.detect.views.graph.graph_queries import ForwardGraph, base_of
from torchwhy.finding import SourceSpan
from torchwhy.record.learning import ParameterCensus, StepCalls
from torchwhy.record.numbers import Real, decode
from torchwhy.record.trace import Trace

SCALES = {"div", "mul"}
PASS_ON = {"div", "mul", "neg", "_to_copy", "clone"}
# The argument of a fused loss that says how it is reduced, and the number that torch uses for "mean".
REDUCTION = {
    "mse_loss": "2",
    "l1_loss": "2",
    "smooth_l1_loss": "2",
    "huber_loss": "2",
    "nll_loss_forward": "3",
    "nll_loss2d_forward": "3",
    "binary_cross_entropy": "3",
    "binary_cross_entropy_with_logits": "4",
}
BY_MEAN = 1
FEWEST_STEPS = 6  # Fewer steps do not show that a rest comes back with each epoch.


def undivided_passes(trace: Trace, optimizer: int) -> int:
    """Return how many backward passes add up before a step of an optimizer; 1 if the loss is divided accordingly."""
    census = next((one for one in trace.of(ParameterCensus) if one.optimizer == optimizer), None)
    passes = 1 if census is None else census.backwards
    stepping = {step.optimizer for step in trace.steps}
    if len(stepping) > 1:  # The passes of the others are among them.
        return 1
    if passes < 2 or not _are_of_one_place(trace) or _is_divided(trace, passes):
        return 1
    return 1 if _are_cleared_between(trace) else passes


def is_usual(trace: Trace, passes: int) -> bool:
    """Tell whether enough steps were seen, and most of them have this many backward passes."""
    counts = [len(step.losses) for step in trace.steps]
    return len(counts) >= FEWEST_STEPS and mode(counts) == passes


def _are_cleared_between(trace: Trace) -> bool:
    """Tell whether gradients are cleared between the passes of the first step: a loss scaler skipped steps there."""
    calls = next((one.calls for one in trace.of(StepCalls)), [])
    names = [call.name for call in calls if call.name in ("backward", "zero_grad")]
    first, last = names.index("backward"), len(names) - names[::-1].index("backward")
    return "zero_grad" in names[first:last]


def _are_of_one_place(trace: Trace) -> bool:
    """Tell whether the passes of the first step are those of one statement; two statements send two losses.

    The schedule of a pipeline makes all passes in one call, and divides the gradients afterwards.
    """
    calls = next((one.calls for one in trace.of(StepCalls)), [])
    passes = [call for call in calls if call.name == "backward"]
    return len({call.location for call in passes}) == 1 and not any(one.by_ranks for one in passes)


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


def passes_of_step(trace: Trace) -> list[list[Real]]:
    """Return the losses of the backward passes before each step."""
    return [step.losses for step in trace.steps]


def backward_place(trace: Trace) -> SourceSpan | None:
    """Return the statement that makes the backward passes of the first step."""
    calls = next((one.calls for one in trace.of(StepCalls)), [])
    return next((call.location for call in calls if call.name == "backward"), None)


def is_mean(trace: Trace) -> bool:
    """Tell whether the loss of a pass is a mean, possibly times a number."""
    graph = ForwardGraph(trace)
    root = next((one for one in graph.losses if one.order is not None), None)
    made = None if root is None else graph.operation(root.order)
    while made is not None and base_of(made) in PASS_ON and made.inputs:
        made = graph.source(made)
    if made is None:
        return False
    reduction = REDUCTION.get(base_of(made))
    return base_of(made) == "mean" or (
        reduction is not None and made.scalars.get(reduction, BY_MEAN) == BY_MEAN
    )


def carried_over(trace: Trace) -> tuple[int, int, list[int]] | None:
    """Return the usual number of passes, that of some steps with a rest of the epoch before, and these steps.

    A rest comes at equal distances, and is less than a whole group.
    """
    counts = [(step.step, len(step.losses)) for step in trace.steps]
    if len({step.optimizer for step in trace.steps}) != 1 or len(counts) < FEWEST_STEPS:
        return None
    usual = mode(count for _, count in counts)
    odd = [(step, count) for step, count in counts if count != usual]
    distances = {after - before for (before, _), (after, _) in pairwise(odd)}
    is_rest = usual > 1 and all(usual < count < 2 * usual for _, count in odd)
    if len(odd) < 2 or len(distances) != 1 or len({count for _, count in odd}) != 1 or not is_rest:
        return None
    return usual, odd[0][1], [step for step, _ in odd]
