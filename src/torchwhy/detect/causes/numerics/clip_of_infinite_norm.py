from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.rules.operand_domains import proven
from torchwhy.detect.views.nonfinite.birth_facts import all_births, finding_from
from torchwhy.detect.views.nonfinite.origins import word
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import GradientsClipped
from torchwhy.record.numbers import Real
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class NormOverflow(Diagnosis):
    """Every gradient is finite, but the sum of their squares is not."""

    value: Real
    step: int
    message = (
        "the gradient norm is infinite although every gradient is finite: their squares overflow, "
        "and clipping then multiplies every gradient by 0"
    )
    advice = "find out why the gradients are this large (scale of the loss, the targets, the inputs) before clipping"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "the gradients are all finite, their norm is not", value=self.value, step=self.step
        )


class InfiniteGradientClipped(Diagnosis):
    """Clipping multiplied an infinite gradient by 0."""

    value: Real
    step: int
    message = "clipping by an infinite norm turned an infinite gradient into NaN (0 * inf) and all others into 0"
    advice = "clip with `error_if_nonfinite=True`, and skip the step when the norm is not finite"

    def evidence(self) -> Iterator[Evidence]:
        claim = f"the gradient was infinite before clipping, {word(self.value)} after it"
        yield Evidence(claim, step=self.step)


class ClippedBeforeUnscale(Diagnosis):
    """Clipping ran while the gradients still contained the loss scale."""

    step: int
    message = (
        "gradients are clipped before `unscale_`: their norm still contains the loss scale, "
        "so clipping leaves almost nothing of them"
    )
    advice = "call `scaler.unscale_(optimizer)` before clipping"

    def evidence(self) -> Iterator[Evidence]:
        claim = "the gradients still contained the loss scale when clipping ran"
        yield Evidence(claim, step=self.step)


class ClipOfInfiniteNorm(Detector):
    """`clip_grad_norm_` worked with a norm that is infinite, or that still contains the loss scale."""

    name = "clip-of-infinite-norm"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        overflowed = set()
        for birth in all_births(trace):
            diagnosis: Diagnosis | None = None
            if proven(birth, self.name) is not None and birth.step not in overflowed:
                overflowed.add(birth.step)
                diagnosis = NormOverflow(value=birth.value, step=birth.step)
            elif birth.phase == "clip" and birth.kind == "from-infinity" and birth.reaches:
                diagnosis = InfiniteGradientClipped(value=birth.value, step=birth.step)
            if diagnosis is not None:
                yield finding_from(trace, birth, detector=self.name, diagnosis=diagnosis)
        for clip in trace.of(GradientsClipped):
            if clip.scaled:
                yield self.found(
                    trace,
                    ClippedBeforeUnscale(step=clip.step),
                    severity="warning",
                    step=clip.step,
                    location=clip.location,
                )
                return

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from loops.unscale_first(finding.location, source)
