"""Do workers draw different random numbers?"""

from __future__ import annotations

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import experiment
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.inputs.data_events import WORKERS_QUESTION, WorkersCompared
from torchwhy.record.trace import Trace


class WorkersSeen(Diagnosis):
    """Whether rows are random, and whether workers differ in them."""

    is_random: bool
    row: int
    message = "{shown}"

    @property
    def shown(self) -> str:
        """Return what two workers read."""
        if not self.is_random:
            return f"row {self.row} is the same whenever it is read"
        return f"two workers read row {self.row} with different random numbers"


def _measured(trace: Trace) -> Diagnosis | None:
    for one in trace.of(WorkersCompared):
        return WorkersSeen(is_random=one.is_random, row=one.row)
    return None


QUESTION = ask(
    WORKERS_QUESTION,
    "Do workers draw different random numbers?",
    experiment(WORKERS_QUESTION, "no loader that trains has several workers"),
    by=_measured,
    in_rehearsal=True,
)
