"""Does padding matter? Asked where a mask of the program follows the padding of an input."""

from __future__ import annotations

from torchwhy.detect.checks import recorded_facts as facts
from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import Need
from torchwhy.detect.views.rehearsed.changed_elements import PADDING, padding_tried
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.trace import Trace


class PaddingChanged(Diagnosis):
    """The padding was changed, with the mask as it is and the other way round."""

    padded: int
    elements: int
    moved: float
    moved_turned: float
    message = (
        "changing the {padded} padded of {elements} elements moved the other outputs by {moved:.2g} of their size, "
        "and by {moved_turned:.2g} with the mask the other way round"
    )


def _mask_helps(trace: Trace) -> bool:
    tried = padding_tried(trace)
    return tried is None or tried.padding <= tried.padding_turned


# Padding in a mean over all positions, say, moves the outputs whatever the mask does.
HELPS = Need(_mask_helps, "padding moves the outputs with the mask either way round")


def measured(trace: Trace) -> Diagnosis | None:
    """Return how much the padding moves the outputs."""
    tried = padding_tried(trace)
    if tried is None:
        return None
    return PaddingChanged(
        padded=tried.padded,
        elements=tried.elements,
        moved=tried.padding,
        moved_turned=tried.padding_turned,
    )


QUESTION = ask(
    PADDING,
    "Are padding masks the right way round?",
    facts.experiment(PADDING, "no step was captured"),
    HELPS,
    by=measured,
    in_rehearsal=True,
)
