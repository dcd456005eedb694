from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.views.nonfinite.birth_facts import finding_from
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.numbers import Real
from torchwhy.record.trace import Trace


class OppositeInfinities(Diagnosis):
    """Gradients of +inf and -inf were added up."""

    target: str
    value: Real
    step: int
    message = "+inf and -inf were added while {target} was accumulated, and their sum is NaN"
    advice = (
        "keep the parts of {target} finite before they are added: clip after each backward pass"
    )

    def evidence(self) -> Iterator[Evidence]:
        claim = "one part of the sum was +inf, the other -inf"
        yield Evidence(claim, value=self.value, step=self.step)


class AccumulatedInfinities(Detector):
    """A gradient of +inf and one of -inf were added while gradients were accumulated."""

    name = "accumulated-infinities"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in trace.births:
            if birth.phase == "accumulate" and birth.kind == "from-infinity":
                gradients = (name for name in birth.reaches if name.startswith("gradient"))
                diagnosis = OppositeInfinities(
                    target=next(gradients, "a gradient"), value=birth.value, step=birth.step
                )
                yield finding_from(
                    trace,
                    birth,
                    detector=self.name,
                    diagnosis=diagnosis,
                    location=birth.called_from,
                )
