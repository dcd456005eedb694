"""Does a resume restore all that its checkpoint holds?"""

from __future__ import annotations

from torchwhy.detect.checks.asked_question import ask
from torchwhy.detect.checks.recorded_facts import STEP_PROBES, Need
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.kept.kept_state import CheckpointMet, CheckpointRead
from torchwhy.record.trace import Trace


class CheckpointUsed(Diagnosis):
    """The parts of the checkpoint from which an optimizer went on."""

    parts: list[str]
    kept: int
    message = "the optimizer began with {kept} tensors of earlier steps"


def measure(trace: Trace) -> Diagnosis | None:
    """Return with how much of its own state the first optimizer after a checkpoint began."""
    met = next(iter(trace.of(CheckpointMet)), None)
    if met is None:
        return None
    read = next(one for one in trace.of(CheckpointRead) if one.index == met.read)
    return CheckpointUsed(parts=[entry.kind for entry in read.entries], kept=met.kept)


def _has_resumed(trace: Trace) -> bool:
    holding = {
        read.index
        for read in trace.of(CheckpointRead)
        if any(entry.kind == "optimizer" for entry in read.entries)
    }
    return any(met.read in holding for met in trace.of(CheckpointMet))


RESUMED = Need(
    _has_resumed,
    "no training goes on from a checkpoint that holds an optimizer",
    probes=("checkpoint probe", *STEP_PROBES),
)
QUESTION = ask("all-restored", "Does a resume restore all of its checkpoint?", RESUMED, by=measure)
