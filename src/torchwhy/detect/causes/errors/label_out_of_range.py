from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.rules.message_kinds import LabelRange, OneHotRange
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.detect.views.crash.indices import BadIndices, bad_indices
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Finding, Fix
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class NoClassNumber(Diagnosis):
    """A label is not a class index; which one is unknown."""

    labels: str
    expression: str
    message = "{labels} contains a label that is not a class index for {expression}"


class LabelsOutside(Diagnosis):
    """Labels are outside the classes of a loss or of `one_hot`."""

    labels: str
    expression: str
    bad: BadIndices
    is_shifted: bool  # a tried change that worked counts the labels from 0
    message = "{labels} contains {wrong}, but {expression} has {bad.size} classes, 0 to {bad.last}{counting}"

    @property
    def wrong(self) -> str:
        """Return the labels out of range in words."""
        return self.bad.words("label")

    @property
    def counting(self) -> str:
        """Return a clause if the labels count the classes from 1."""
        return "; the labels count from 1" if self.bad.counts_from_one else ""

    @property
    def ignored(self) -> int | None:
        """Return the label that may mark samples without a class, such as 255 in masks, or -1."""
        if self.bad.void is not None:
            return self.bad.void
        return self.bad.minimum if self.bad.minimum < 0 else None

    @property
    def outputs(self) -> int | None:
        """Return how many outputs the last layer needs for these labels; None if it has enough."""
        is_too_few = self.bad.void is None and self.bad.maximum >= self.bad.size
        return self.bad.maximum + 1 if is_too_few and not self.is_shifted else None

    @property
    def remedies(self) -> tuple[str, ...]:
        advice = [_leave_out(self.bad.void)] if self.bad.void is not None else []
        if self.outputs is not None:
            advice.append(
                f"give the last layer {self.outputs} outputs, one for each label from 0 to {self.bad.maximum}"
            )
        if self.bad.minimum < 0:
            advice.append(_leave_out(self.bad.minimum))
        return tuple(advice)


class OneHotTooSmall(LabelsOutside):
    """Labels are outside the number of classes that `one_hot` got."""

    @property
    def ignored(self) -> int | None:
        return self.bad.minimum if self.bad.minimum < 0 else None

    @property
    def outputs(self) -> int | None:
        return None

    @property
    def remedies(self) -> tuple[str, ...]:
        more = f"pass `num_classes={self.bad.maximum + 1}`, or correct the labels"
        return (more, _leave_out(self.bad.minimum)) if self.bad.minimum < 0 else (more,)


class LabelOutOfRange(Detector):
    """A class label is negative, or not smaller than the number of classes."""

    name = "label-out-of-range"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if not crash.is_in_loader and isinstance(crash.said, LabelRange):
                yield self._finding(crash)

    def _finding(self, crash: CrashView) -> Finding:
        bad, shifted = bad_indices(crash.event), crash.fixes("shift-target")
        return crash.finding(
            self.name,
            diagnosed(crash, bad, is_shifted=bool(shifted)),
            evidence=[
                *(bad.evidence(crash.event) if bad is not None else []),
                *crash.operand_evidence,
                *crash.walk_evidence,
            ],
            fixes=shifted,
            sample=bad.sample(crash.event) if bad is not None else None,
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case LabelsOutside(ignored=ignored, outputs=outputs, bad=bad):
                if ignored is not None:
                    yield from shapes.ignored_label(finding.location, source, label=ignored)
                if outputs is not None:
                    yield from shapes.more_outputs(source, right=outputs, wrong=bad.size)


def diagnosed(
    crash: CrashView, bad: BadIndices | None, *, is_shifted: bool
) -> NoClassNumber | LabelsOutside:
    """Return the labels that are out of range, as far as they are known."""
    target = crash.tensor("target") if crash.is_loss else None
    named = target or next(iter(crash.event.operands), None)
    labels = named.name if named is not None else "the labels"
    if bad is None:
        return NoClassNumber(labels=labels, expression=crash.expression)
    kind = OneHotTooSmall if isinstance(crash.said, OneHotRange) else LabelsOutside
    return kind(labels=labels, expression=crash.expression, bad=bad, is_shifted=is_shifted)


def _leave_out(label: int) -> str:
    return (
        f"if {label} means unknown, ignore it: `ignore_index={label}`; otherwise correct the data"
    )
