from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.sizes import statements
from torchwhy.detect.views.crash.crash_facts import (
    at,
    crashes,
    expression_of,
    finding_of,
    fixes_of,
    idea,
    input_named,
    is_about_labels,
    is_in_loader,
    loss_expression,
    operand_evidence,
    says,
    size,
    walk_evidence,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Crash, NamedTensor
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

WANTS_CLASS_NUMBERS = (
    r"expected target dtype to be Long",
    r"expected scalar type Long but found",
    r"one_hot is only applicable to index tensor of type LongTensor",
    r"not implemented for '(?:Int|Float|Double|Bool|Half|Short|Char)'",
)


class LabelDtype(Detector):
    """A loss got its labels in a number type that it does not take."""

    name = "label-dtype"
    needs = frozenset({"crash"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if not is_in_loader(crash) and is_about_labels(crash):
                yield _judge(trace, crash)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from statements.as_float(finding, source)


def _judge(trace: Trace, crash: Crash) -> Finding:
    target = _labels(crash)
    where = loss_expression(crash)
    what = where.expression if where is not None and where.expression else expression_of(crash)
    labels = (
        f"{target.name} ({target.dtype} {size(target)})" if target is not None else "the labels"
    )
    wants_classes = any(says(crash, pattern) for pattern in WANTS_CLASS_NUMBERS)
    if says(crash, "class probabilities"):
        wanted = "a target of the output's shape must hold probabilities (float), class numbers must be one per sample"
    elif wants_classes:
        wanted = "class labels must be whole numbers of type int64"
    else:
        wanted = "this loss compares numbers, so labels must have the output's floating type"
    kinds = ("long-target",) if wants_classes else ("class-numbers", "float-target")
    fixes = fixes_of(crash, *kinds)
    return finding_of(
        trace,
        crash,
        detector=LabelDtype.name,
        message=f"{labels} has a type that {what} does not take: {wanted}",
        evidence=[*_source(target), *operand_evidence(crash), *walk_evidence(crash)],
        location=where,
        fixes=fixes
        or [
            idea(
                "convert the labels with .long()"
                if wants_classes
                else "convert the labels with .float()"
            )
        ],
    )


def _labels(crash: Crash) -> NamedTensor | None:
    """Return the labels: the target of the loss, or the only tensor there is."""
    target = input_named(crash, "target")
    if target is None and len(crash.operands) == 1 and loss_expression(crash) is None:
        return crash.operands[0]
    return target


def _source(target: NamedTensor | None) -> list[Evidence]:
    if (
        target is None
        or target.made_by is None
        or target.made_by.expression in (None, target.name)
        or target.origin == "batch"
    ):
        return []
    return [Evidence(f"{target.name} is made by {target.made_by.expression}{at(target.made_by)}")]
