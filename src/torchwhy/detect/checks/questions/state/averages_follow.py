"""Do averages of the weights, and target networks, follow the model?"""

from __future__ import annotations

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import STEP_PROBES, Need
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.kept.kept_state import AverageMoved
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace


class AverageSeen(Diagnosis):
    """How a copy of the model moved."""

    copy: str
    share: float
    message = "`{copy}` goes {share:.3g} of the way to the model at a step"


def measure(trace: Trace) -> Diagnosis | None:
    """Return how the first copy moved."""
    seen = trace.of(AverageMoved)
    moved = next((one for one in seen if one.changed), None)
    if moved is None:
        return None
    return AverageSeen(copy=moved.copy, share=decode(moved.share))


AVERAGES = Need(
    lambda trace: any(one.writes or one.changed for one in trace.of(AverageMoved)),
    "the program writes no copy of a model in training",
    probes=("average probe", *STEP_PROBES),
)
QUESTION = ask("averages-follow", "Do copies of the model follow it?", AVERAGES, by=measure)
