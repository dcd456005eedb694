from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.views.nonfinite.birth_facts import finding_from
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace


class AccumulatedInfinities(Detector):
    """A gradient of +inf and one of -inf were added while gradients were accumulated."""

    name = "accumulated-infinities"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in trace.births:
            if birth.phase == "accumulate" and birth.kind == "from-infinity":
                yield self._finding(trace, birth)

    def _finding(self, trace: Trace, birth: Birth) -> Finding:
        target = next((name for name in birth.reaches if name.startswith("gradient")), "a gradient")
        message = f"+inf and -inf were added while {target} was accumulated, and their sum is NaN"
        evidence = [
            Evidence(
                "one part of the sum was +inf, the other -inf", value=birth.value, step=birth.step
            )
        ]
        title = f"keep the parts of {target} finite before they are added: clip after each backward pass"
        found = finding_from(trace, birth, detector=self.name, message=message, evidence=evidence)
        location = birth.called_from or birth.location
        return replace(found, location=location, fixes=(Fix(title, safety="show-only"),))
