from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training import loops
from torchwhy.detect.views.nonfinite.birth_facts import all_births, finding_from, op_name
from torchwhy.detect.views.nonfinite.origins import word
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, GradientsClipped
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

NORMS = frozenset({"norm", "linalg_vector_norm", "_foreach_norm"})


class ClipOfInfiniteNorm(Detector):
    """Gradients were clipped by a norm that is infinite, or that still contains the loss scale."""

    name = "clip-of-infinite-norm"
    needs = frozenset({"birth", "clip"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        overflowed = set()
        for birth in all_births(trace):
            if birth.phase != "clip":
                continue
            if (
                birth.kind == "operation"
                and op_name(birth) in NORMS
                and birth.step not in overflowed
            ):
                overflowed.add(birth.step)
                yield self._overflow(trace, birth)
            elif birth.kind == "from-infinity" and birth.reaches:
                yield self._spread(trace, birth)
        scaled = next((clip for clip in trace.of(GradientsClipped) if clip.scaled), None)
        if scaled is not None:
            yield self._scaled(trace, scaled)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from loops.unscale_first(finding.location, source)

    def _overflow(self, trace: Trace, birth: Birth) -> Finding:
        message = (
            "the norm of the gradients is infinite although every gradient is finite: their squares overflow, "
            "and clipping then multiplies all of them by 0"
        )
        evidence = [
            Evidence("all gradients finite, their norm is not", value=birth.value, step=birth.step)
        ]
        title = "find why the gradients are this large (scale of the loss, the targets, the inputs) before clipping"
        found = finding_from(trace, birth, detector=self.name, message=message, evidence=evidence)
        return replace(found, fixes=(Fix(title, safety="show-only"),))

    def _spread(self, trace: Trace, birth: Birth) -> Finding:
        message = "clipping by an infinite norm turned an infinite gradient into NaN (0 * inf) and all others into 0"
        fact = f"the gradient was infinite before clipping, {word(birth.value)} after it"
        evidence = [Evidence(fact, step=birth.step)]
        title = "clip with `error_if_nonfinite=True`, and skip the step when the norm is not finite"
        found = finding_from(trace, birth, detector=self.name, message=message, evidence=evidence)
        return replace(found, fixes=(Fix(title, safety="show-only"),))

    def _scaled(self, trace: Trace, clip: GradientsClipped) -> Finding:
        return Finding(
            detector=self.name,
            severity="warning",
            message=(
                "gradients are clipped before `unscale_`: their norm still contains the loss scale, "
                "so that nearly nothing is left of them"
            ),
            step=clip.step,
            rank=trace.rank,
            location=clip.location,
            evidence=(
                Evidence(
                    "the loss scale was still in the gradients when they were clipped",
                    step=clip.step,
                ),
            ),
            fixes=(Fix("call `scaler.unscale_(optimizer)` before clipping", safety="show-only"),),
        )
