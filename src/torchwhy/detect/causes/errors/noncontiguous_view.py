from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.views.crash.crash_facts import (
    crashes,
    expression_of,
    finding_of,
    fixes_of,
    idea,
    operand_evidence,
    says,
    walk_evidence,
)
from torchwhy.finding import Evidence, Finding
from torchwhy.record.trace import Trace

INCOMPATIBLE = r"view size is not compatible with input tensor's size and stride"


class NoncontiguousView(Detector):
    """`view` was asked to join dimensions that a `transpose` or `permute` has put out of order."""

    name = "noncontiguous-view"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if says(crash, INCOMPATIBLE) is None:
                continue
            tensor = next(iter(crash.operands), None)
            what = f"`{tensor.name}`" if tensor is not None else "the tensor"
            yield finding_of(
                trace,
                crash,
                detector=self.name,
                message=f"`{expression_of(crash)}` needs the elements of {what} in order, and in memory they are not",
                evidence=[
                    Evidence(
                        "`transpose`, `permute`, `expand` and slices change only the strides; `view` cannot join such "
                        "dimensions, `reshape` copies them"
                    ),
                    *operand_evidence(crash),
                    *walk_evidence(crash),
                ],
                fixes=fixes_of(crash, "use-reshape")
                or [idea("write `reshape` in place of `view`, or call `.contiguous()` first")],
            )
