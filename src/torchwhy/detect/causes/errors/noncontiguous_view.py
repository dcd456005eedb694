from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.rules.message_kinds import StridedView
from torchwhy.detect.views.crash.crash_view import crashes
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.trace import Trace


class OutOfOrder(Diagnosis):
    """`view` got a tensor whose elements are not in order in memory."""

    expression: str
    tensor: str | None
    message = "`{expression}` needs the elements of {what} in order, but in memory they are not"
    advice = "use `reshape` instead of `view`, or call `.contiguous()` first"

    @property
    def what(self) -> str:
        """Return the tensor."""
        return f"`{self.tensor}`" if self.tensor is not None else "the tensor"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            "`transpose`, `permute`, `expand` and slices change only the strides; `view` cannot join such "
            "dimensions, but `reshape` copies them"
        )


class NoncontiguousView(Detector):
    """`view` was asked to join dimensions that a `transpose` or `permute` had put out of order."""

    name = "noncontiguous-view"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if not isinstance(crash.said, StridedView):
                continue
            tensor = next((one.name for one in crash.event.operands), None)
            yield crash.finding(
                self.name,
                OutOfOrder(expression=crash.expression, tensor=tensor),
                evidence=[*crash.operand_evidence, *crash.walk_evidence],
                cures=crash.fixes("use-reshape"),
            )
