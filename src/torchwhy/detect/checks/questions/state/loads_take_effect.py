"""Does a loaded state change the model?"""

from __future__ import annotations

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import Need
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.kept.kept_state import CheckpointRead, StateLoaded
from torchwhy.record.trace import Trace


class LoadsSeen(Diagnosis):
    """How many of a module's tensors the first state that it loaded has."""

    loads: int
    fits: int
    wanted: int
    message = "the first state that was loaded has {fits} of {wanted} tensors"


def measure(trace: Trace) -> Diagnosis | None:
    """Return what the first load matched."""
    loads = trace.of(StateLoaded)
    if not loads:
        return None
    return LoadsSeen(loads=len(loads), fits=loads[0].fits, wanted=loads[0].wanted)


LOADS = Need(
    lambda trace: bool(trace.of(StateLoaded)) or bool(trace.of(CheckpointRead)),
    "the program loads no state",
    probes=("load probe", "checkpoint probe"),
)
QUESTION = ask("loads-take-effect", "Does a loaded state reach the model?", LOADS, by=measure)
