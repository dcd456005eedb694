"""Does the past see the future? Asked where the targets are the inputs shifted by one along time."""

from __future__ import annotations

from torchwhy.detect.checks import recorded_facts as facts
from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.views.rehearsed.changed_elements import FUTURE, future_seen, own_element
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.trace import Trace


class FutureChanged(Diagnosis):
    """An element was changed, and the output before it stayed."""

    position: int
    length: int
    after: float
    message = (
        "changing element {position} of {length} moved the outputs from there on by up to {after:.2g} of their size, "
        "and none before"
    )


def measured(trace: Trace) -> Diagnosis | None:
    """Return which element was changed, and what moved."""
    seen, own = future_seen(trace), own_element(trace)
    if seen is None and own is not None:
        return FutureChanged(position=own.position, length=own.length, after=own.later)
    if seen is None:
        return None
    return FutureChanged(position=seen.position, length=seen.length, after=seen.after)


QUESTION = ask(
    FUTURE,
    "Is the element to predict hidden from the model?",
    facts.experiment(FUTURE, "no step was captured"),
    by=measured,
    in_rehearsal=True,
)
