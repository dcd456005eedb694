from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import UPDATES
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.views.training.step_calls import late_clip
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import StepCalls
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

ENOUGH_STEPS = (
    2  # The calls of the first six steps are recorded; two late clips among them are a habit.
)


class ClippedTooLate(Diagnosis):
    """Gradients are clipped after the step that used them."""

    function: str
    times: int
    seen_at: int
    message = (
        "{function} runs after the step that used the gradients and "
        "before zero_grad clears them: no step uses the clipped values"
    )
    advice = "clip between loss.backward() and optimizer.step()"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"the order of calls is step, clip, zero_grad, backward, step in {self.times} of the first steps",
            value=float(self.times),
            step=self.seen_at,
        )


class ClipAfterStep(Detector):
    """Gradients are clipped after the step that used them, and then cleared."""

    name = "clip-after-step"
    question = UPDATES

    def scan(self, trace: Trace) -> Iterator[Finding]:
        # The first event holds the calls before the first step, so a clip after a step shows from the second on.
        late = [
            (event.step, clip)
            for event in trace.of(StepCalls)[1:]
            if (clip := late_clip(event.calls)) is not None
        ]
        if len(late) < ENOUGH_STEPS:
            return
        step, clip = late[0]
        yield self.found(
            trace,
            ClippedTooLate(function=str(clip.target), times=len(late), seen_at=step),
            severity="note" if clip.used else "warning",
            step=max(step - 1, 0),
            location=clip.location,
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from loops.move_before(finding.location, source, "step")
