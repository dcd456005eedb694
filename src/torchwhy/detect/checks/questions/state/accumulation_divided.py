"""Is the loss divided by the number of backward passes that add up before a step?"""

from __future__ import annotations

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import GRAPH, Need
from torchwhy.detect.views.graph.accumulation import passes_of_step
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.trace import Trace


class PassesSeen(Diagnosis):
    """How many backward passes add up before a step."""

    passes: int
    message = "{passes} backward passes before a step"


def measure(trace: Trace) -> Diagnosis | None:
    """Return the number of passes."""
    return PassesSeen(passes=max(map(len, passes_of_step(trace)), default=0))


ACCUMULATION = Need(
    lambda trace: any(len(losses) > 1 for losses in passes_of_step(trace)),
    "one backward pass belongs to each step",
)
QUESTION = ask(
    "accumulation-divided",
    "Is the loss divided by the passes that add up?",
    GRAPH,
    ACCUMULATION,
    by=measure,
)
