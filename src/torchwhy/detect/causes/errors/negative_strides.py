from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.rules.message_kinds import NegativeStride
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class ReversedArray(Diagnosis):
    """The program converts a reversed array to a tensor."""

    expression: str
    turned: SourceSpan | None  # the expression that reversed it
    part: str | None  # the part of the sample that is reversed
    message = "`{expression}` gets a reversed array, but a tensor cannot have negative strides"
    advice = "copy the array before converting it: `array.copy()` or `np.ascontiguousarray(array)`"

    @property
    def turning(self) -> str:
        """Return the expression that reversed it."""
        return short(self.turned.expression or "") if self.turned is not None else ""

    def evidence(self) -> Iterator[Evidence]:
        if self.turned is not None:
            yield Evidence("this expression reverses the array", location=self.turned)
        if self.part:
            yield Evidence(f"the array is part {self.part} of a sample")


class ReversedElsewhere(ReversedArray):
    """The array was reversed on another line."""

    message = (
        "`{expression}` gets an array that `{turning}` reversed without copying it, but a tensor cannot have "
        "negative strides"
    )


class ReversedInDataset(ReversedArray):
    """The dataset returns a reversed array."""

    message = (
        "the dataset returns an array that `{turning}` reversed without copying it, but a tensor cannot have "
        "negative strides"
    )
    advice = "copy it: `{turning}.copy()`"


class NegativeStrides(Detector):
    """A reversed NumPy array was converted to a tensor."""

    name = "negative-strides"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if not isinstance(crash.said, NegativeStride):
                continue
            diagnosis = _kind(crash)(
                expression=crash.expression,
                turned=crash.place("turned"),
                part=crash.fact("reversed"),
            )
            yield crash.finding(
                self.name,
                diagnosis,
                evidence=crash.operand_evidence,
                location=crash.place("turned") if _is_in_dataset(crash) else None,
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.copied_array(finding.location, source)


def _kind(crash: CrashView) -> type[ReversedArray]:
    turned, raised = crash.place("turned"), crash.event.location
    if turned is None or not turned.expression:
        return ReversedArray
    if _is_in_dataset(crash):
        return ReversedInDataset
    is_elsewhere = raised is not None and turned.line != raised.line
    return ReversedElsewhere if is_elsewhere else ReversedArray


def _is_in_dataset(crash: CrashView) -> bool:
    """Tell whether a DataLoader was collating samples, as opposed to the dataset making one."""
    return "indices" in crash.event.facts and "index" not in crash.event.facts
