"""Does a step go downhill?"""

from __future__ import annotations

from collections.abc import Mapping

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import Need, answered, experiment
from torchwhy.detect.views.graph.graph_queries import ForwardGraph
from torchwhy.detect.views.losses.loss_errors import error_behind
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.trace import Trace

SLUG = "steps-go-downhill"
ENOUGH = 8  # updates that all go uphill: of a fair coin, 1 in 256


class StepsGoDownhill(Diagnosis):
    """How many shortened updates lower the loss of their own batch."""

    downhill: int
    steps: int
    message = "{downhill} of {steps} shortened updates lower the loss of their batch"


class StepsGoUphill(Diagnosis):
    """Every update raises an error on the batch it was made for."""

    uphill: int
    steps: int
    message = (
        "{uphill} of {steps} shortened updates raise the loss of the very batch they were made for"
    )


def _measured(trace: Trace) -> StepsGoDownhill | None:
    for one in answered(trace, SLUG):
        uphill, steps = _counts(one.answer)
        return StepsGoDownhill(downhill=steps - uphill, steps=steps)
    return None


def _counts(answer: Mapping[str, object]) -> tuple[int, int]:
    return int(float(str(answer["uphill"]))), int(float(str(answer["steps"])))


def _verdict(trace: Trace) -> str:
    for one in answered(trace, SLUG):
        uphill, steps = _counts(one.answer)
        if 2 * uphill < steps:
            return "yes"
        is_whole = bool(one.answer.get("all moved"))
        if uphill == steps >= ENOUGH and is_whole and _minimises_an_error(trace):
            return "no"
    return "unclear"


def _minimises_an_error(trace: Trace) -> bool:
    """Tell whether the loss is an error, which nobody enlarges on purpose with all parameters."""
    graph = ForwardGraph(trace)
    root = next((one for one in graph.losses if one.order is not None), None)
    signed = error_behind(graph, graph.operation(root.order)) if root is not None else None
    return signed is not None and signed[0] > 0


def _denied(trace: Trace) -> StepsGoUphill | None:
    if _verdict(trace) != "no":
        return None
    uphill, steps = _counts(answered(trace, SLUG)[0].answer)
    return StepsGoUphill(uphill=uphill, steps=steps)


CLEAR = Need(
    lambda trace: _verdict(trace) != "unclear",
    "the updates raise a loss that may be meant to rise",
)
QUESTION = ask(
    SLUG,
    "Does a step go downhill?",
    experiment(SLUG, "no training step was captured"),
    CLEAR,
    by=_measured,
    denied=_denied,
    in_rehearsal=True,
)
