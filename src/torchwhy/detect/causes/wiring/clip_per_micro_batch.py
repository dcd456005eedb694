from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import UPDATES
from torchwhy.detect.views.training.source_statements import reads_gradients
from torchwhy.detect.views.training.step_calls import clip_between_passes
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.events import OptimizerMade
from torchwhy.record.learning import StepCalls
from torchwhy.record.trace import Trace

ENOUGH_STEPS = 2  # of the first six, whose calls are recorded


class ClippedBeforeSum(Diagnosis):
    """Gradients are clipped after each of several backward passes whose sum the step uses."""

    function: str
    clips: int
    seen_at: int
    message = (
        "{function} runs after each of the {clips} backward passes of a step: it clips sums that are not complete, "
        "and shrinks the gradients of the first passes several times"
    )
    advice = "clip once, after the last backward pass and before optimizer.step()"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"the calls up to a step are {self.clips} times backward, clip, and then step; "
            "each clips parameters that the one before clipped, and nothing clears the gradients between them",
            value=float(self.clips),
            step=self.seen_at,
        )


class ClipPerMicroBatch(Detector):
    """Gradient accumulation clips after every backward pass instead of once before the step."""

    name = "clip-per-micro-batch"
    question = UPDATES

    def scan(self, trace: Trace) -> Iterator[Finding]:
        found = [
            (event.step, clips)
            for event in trace.of(StepCalls)
            if (clips := clip_between_passes(event.calls))
        ]
        if len(found) < ENOUGH_STEPS or len(trace.of(OptimizerMade)) != 1 or reads_gradients(trace):
            return
        step, clips = found[0]
        yield self.found(
            trace,
            ClippedBeforeSum(function=str(clips[0].target), clips=len(clips), seen_at=step),
            severity="warning",
            step=step,
            location=clips[0].location,
        )
