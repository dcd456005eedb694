from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.views.nonfinite.birth_facts import finding_from
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.numbers import Real
from torchwhy.record.trace import Trace


class OppositeInfinities(Diagnosis):
    """The sum of +inf and -inf in an accumulated gradient is NaN."""

    target: str
    value: Real
    step: int
    message = "accumulating {gradient} added +inf and -inf, and the sum is NaN"
    advice = (
        "keep every part of {gradient} finite before it is added: clip after each backward pass"
    )

    @property
    def gradient(self) -> str:
        return self.target if self.target.startswith("a ") else f"the {self.target}"

    def evidence(self) -> Iterator[Evidence]:
        claim = "one part of the sum was +inf, the other -inf"
        yield Evidence(claim, value=self.value, step=self.step)


class AccumulatedInfinities(Detector):
    """Gradient accumulation added +inf and -inf."""

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
