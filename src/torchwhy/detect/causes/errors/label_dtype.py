from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.rules.message_kinds import (
    ClassNumbersWanted,
    ProbabilitiesWanted,
    ScalarType,
    UnsupportedDtype,
)
from torchwhy.detect.views.crash.crash_evidence import of_origin, sizes
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Finding, Fix
from torchwhy.record.events import NamedTensor
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

NO_CLASS_NUMBERS = ("Int", "Float", "Double", "Bool", "Half", "Short", "Char")


class LabelsRefused(Diagnosis):
    """A loss that compares numbers got labels of another dtype than its output."""

    labels: str | None
    dtype: str | None
    shape: Shape | None
    loss: str  # the expression that calls it
    message = (
        "{loss} does not accept the dtype of {what}: this loss compares numbers, so labels need the floating point "
        "dtype of the output"
    )
    advice = "convert the labels with `.float()`"

    @property
    def what(self) -> str:
        """Return the labels with their dtype and shape."""
        if self.labels is None or self.shape is None:
            return "the labels"
        return f"{self.labels} ({self.dtype} {sizes(self.shape)})"


class NoClassNumbers(LabelsRefused):
    """A loss that expects class indices got labels of another dtype."""

    message = "{loss} does not accept the dtype of {what}: class labels must be int64"
    advice = "convert the labels with `.long()`"


class NoProbabilities(LabelsRefused):
    """A loss got a target of its output's shape that contains integers."""

    message = (
        "{loss} does not accept the dtype of {what}: a target of the output's shape must contain "
        "probabilities (float); class indices must be one per sample"
    )


class LabelDtype(Detector):
    """A loss got labels of a dtype that it does not accept."""

    name = "label-dtype"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if not crash.is_in_loader and crash.is_about_labels:
                yield self._finding(crash)

    def _finding(self, crash: CrashView) -> Finding:
        labels, where = _labels(crash), crash.loss_expression
        kind = _kind(crash)
        diagnosis = kind(
            labels=labels.name if labels is not None else None,
            dtype=labels.dtype if labels is not None else None,
            shape=labels.shape if labels is not None else None,
            loss=(where.expression if where is not None else None) or crash.expression,
        )
        casts = ("long-target",) if kind is NoClassNumbers else ("class-numbers", "float-target")
        return crash.finding(
            self.name,
            diagnosis,
            evidence=[*of_origin(labels), *crash.operand_evidence, *crash.walk_evidence],
            location=where,
            cures=crash.fixes(*casts),
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.as_float(finding.location, source)


def _kind(crash: CrashView) -> type[LabelsRefused]:
    """Return the diagnosis by what the loss expects."""
    match crash.said:
        case ProbabilitiesWanted():
            return NoProbabilities
        case ClassNumbersWanted() | ScalarType(expected="Long"):
            return NoClassNumbers
        case UnsupportedDtype(dtype=dtype) if dtype in NO_CLASS_NUMBERS:
            return NoClassNumbers
    return LabelsRefused


def _labels(crash: CrashView) -> NamedTensor | None:
    """Return the labels: the target of the loss, or the only tensor of the expression."""
    target, operands = crash.tensor("target"), crash.event.operands
    if target is None and len(operands) == 1 and crash.loss_expression is None:
        return operands[0]
    return target
