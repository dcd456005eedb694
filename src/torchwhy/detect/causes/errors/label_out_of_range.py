from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import shapes
from torchwhy.detect.views.crash.crash_facts import (
    crashes,
    expression_of,
    finding_of,
    fixes_of,
    idea,
    input_named,
    is_in_loader,
    is_loss,
    operand_evidence,
    says,
    walk_evidence,
)
from torchwhy.detect.views.crash.indices import bad_indices
from torchwhy.finding import Finding, Fix, Sample
from torchwhy.record.events import Crash
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

PATTERNS = (
    r"Target -?\d+ is out of bounds",
    r"Class values must be (?:smaller than num_classes|non-negative)",
    r"target out of range",
    r"nll_loss.*Assertion|t >= 0 && t < n_classes",
)


class LabelOutOfRange(Detector):
    """A class label is negative, or not smaller than the number of classes."""

    name = "label-out-of-range"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if not is_in_loader(crash) and any(says(crash, pattern) for pattern in PATTERNS):
                yield _judge(trace, crash)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from shapes.ignored_label(finding, source)
        yield from shapes.more_outputs(finding, source)


def _judge(trace: Trace, crash: Crash) -> Finding:
    bad = bad_indices(crash)
    target = input_named(crash, "target") if is_loss(crash) else None
    name = (
        target.name
        if target is not None
        else crash.operands[0].name
        if crash.operands
        else "the labels"
    )
    if bad is None:
        message = f"{name} holds a label that is no class number for {expression_of(crash)}"
    else:
        what = expression_of(crash)
        message = f"{name} holds {bad.words('label')}, but {what} has {bad.size} classes, 0 to {bad.size - 1}"
        if bad.counts_from_one:
            message += "; the labels count from 1"
    sample = (
        Sample(bad.positions[0], bad.dataset_index(crash))
        if bad is not None and bad.positions
        else None
    )
    return finding_of(
        trace,
        crash,
        detector=LabelOutOfRange.name,
        message=message,
        evidence=[
            *(bad.evidence(crash) if bad is not None else []),
            *operand_evidence(crash),
            *walk_evidence(crash),
        ],
        fixes=_fixes(crash),
        sample=sample,
    )


def _fixes(crash: Crash) -> list[Fix]:
    bad = bad_indices(crash)
    shifted = fixes_of(crash, "shift-target")
    if bad is None:
        return shifted
    ideas = []
    if "one_hot" in expression_of(crash):
        ideas.append(idea(f"make it with {bad.maximum + 1} classes, or mend the labels"))
    elif bad.void is not None:
        value = bad.void
        ideas.append(
            idea(
                f"if {value} means unknown, leave it out: ignore_index={value}; otherwise mend the data"
            )
        )
    elif bad.maximum >= bad.size and not shifted:
        ideas.append(
            idea(
                f"give the last layer {bad.maximum + 1} outputs, one for each label from 0 to {bad.maximum}"
            )
        )
    if bad.minimum < 0:
        value = bad.minimum
        ideas.append(
            idea(
                f"if {value} means unknown, leave it out: ignore_index={value}; otherwise mend the data"
            )
        )
    return [*shifted, *ideas]
