"""Does every update change the weights?"""

from __future__ import annotations

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import STEP_PROBES, Need
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.kept.kept_state import UpdatesCompared
from torchwhy.record.trace import Trace


class UpdatesSeen(Diagnosis):
    """How many of the sampled weights some updates changed."""

    moved: int
    elements: int
    updates: int
    message = "{moved} of {elements} sampled weights moved in {updates} steps"


def measure(trace: Trace) -> Diagnosis | None:
    """Return the first comparison."""
    seen = next(iter(trace.of(UpdatesCompared)), None)
    if seen is None:
        return None
    return UpdatesSeen(
        moved=seen.elements - seen.same, elements=seen.elements, updates=seen.updates
    )


UPDATES = Need(
    lambda trace: bool(trace.of(UpdatesCompared)),
    "no optimizer made ten steps",
    probes=("arrival probe", *STEP_PROBES),
)
QUESTION = ask("updates-arrive", "Do the updates change the weights?", UPDATES, by=measure)
