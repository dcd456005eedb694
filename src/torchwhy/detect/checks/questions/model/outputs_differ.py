"""Are outputs different for different inputs? Asked where a loss compares outputs with each other only."""

from __future__ import annotations

from torchwhy.detect.checks import recorded_facts as facts
from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.views.rehearsed.constant_outputs import OUTPUTS_DIFFER, constant_tried
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.trace import Trace


class ConstantLoss(Diagnosis):
    """The loss of one output for all samples, beside that of training."""

    constant: float
    trained: float
    updates: int
    message = "one output for all samples gives a loss of {constant:.3g}, training for {updates} updates {trained:.3g}"


def measured(trace: Trace) -> Diagnosis | None:
    """Return the loss of a constant output."""
    tried = constant_tried(trace)
    if tried is None:
        return None
    return ConstantLoss(constant=tried.constant, trained=tried.trained, updates=tried.updates)


def denied(trace: Trace) -> Diagnosis | None:
    """Return the same if no other output is better."""
    tried = constant_tried(trace)
    return measured(trace) if tried is not None and tried.is_best else None


QUESTION = ask(
    OUTPUTS_DIFFER,
    "Does the loss keep outputs of different samples apart?",
    facts.experiment(OUTPUTS_DIFFER, "no step was captured"),
    by=measured,
    denied=denied,
    in_rehearsal=True,
)
