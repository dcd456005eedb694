from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import bad_values, data
from torchwhy.detect.rules.operand_domains import proven
from torchwhy.detect.views.nonfinite.birth_facts import finding_from, op_name, tensors
from torchwhy.detect.views.nonfinite.operand_facts import argument
from torchwhy.detect.views.nonfinite.origins import expression_of
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix, Label
from torchwhy.record.events import Birth
from torchwhy.record.tensors import TensorFacts
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class Reduction(Diagnosis):
    """A reduction got too few elements."""

    expression: str
    step: int


class TooFewForDeviation(Reduction):
    """A standard deviation or variance has no more elements than its correction subtracts."""

    elements: int
    message = (
        "{expression} is a standard deviation or variance over {count}: "
        "with Bessel's correction it divides by n - 1, which is 0 here"
    )
    advice = "leave out the case of a single element (with a loader, `drop_last=True`), or pass `unbiased=False`"

    @property
    def count(self) -> str:
        return "1 element" if self.elements == 1 else f"{self.elements} elements"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"each result was computed from {self.count}", step=self.step)


class NothingReduced(Reduction):
    """A mean was computed over no elements."""

    operand: str
    shape: Shape | None
    message = (
        "{expression} reduces no elements: {operand} is empty, and the mean of no elements is 0/0"
    )
    advice = (
        "skip the term when {operand} is empty, or divide a sum by a count clamped to at least 1"
    )

    def evidence(self) -> Iterator[Evidence]:
        shape = "unknown" if self.shape is None else self.shape
        claim = f"each result was computed from 0 elements; {self.operand} has shape {shape}"
        yield Evidence(claim, step=self.step)


class NoLabelCounts(Reduction):
    """A class loss averages over labels that all have weight 0 or are ignored, or over an empty batch."""

    labels: str
    batch_is_empty: bool
    ignored: int | None  # the label that all have, if it is no class
    message = "{expression} averages over no labels: {reason}, so it is 0/0"
    advice = (
        "skip batches in which no entry of {labels} counts, "
        "or sum the loss and divide by a count clamped to at least 1"
    )

    @property
    def reason(self) -> str:
        if self.batch_is_empty:
            return "the batch is empty"
        if self.ignored is not None:
            return f"every entry of {self.labels} is {self.ignored} (`ignore_index`)"
        return f"every entry of {self.labels} is ignored or has weight 0"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(self.reason, step=self.step)


class CountOfZero(Reduction):
    """A sum over no elements was divided by a count of 0."""

    total: str
    count: str
    message = "{expression} is a mean over no elements: {count} was 0"
    headline = "{expression} is a mean over no elements"
    advice = (
        "clamp {count} to at least 1 before dividing, or skip the term when nothing is selected"
    )

    def evidence(self) -> Iterator[Evidence]:
        for name in (self.total, self.count):
            label = Label(name, "was 0")
            yield Evidence(f"{name} was 0", value=0.0, step=self.step, label=label)


class EmptyReduction(Detector):
    """A mean, a standard deviation or a loss was computed over no elements, or over too few."""

    name = "empty-reduction"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in trace.births:
            violation = proven(birth, self.name)
            if violation is not None:
                diagnosis = _diagnosis(birth, violation.row.case)
                yield finding_from(trace, birth, detector=self.name, diagnosis=diagnosis)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from data.empty_reduction(finding.location, source)
        yield from bad_values.skip_bad_batch(finding.location, source)


def _ignored(labels: TensorFacts | None) -> int | None:
    """Return the one value of all labels if it is negative: torch accepts that only as the index to ignore."""
    if labels is None or labels.minimum is None or labels.minimum != labels.maximum:
        return None
    return int(labels.minimum) if labels.minimum < 0 else None


def _diagnosis(birth: Birth, case: str) -> Reduction:
    expression = expression_of(birth, f"`{op_name(birth)}`")
    match case:
        case "labels":
            labels = tensors(birth)[1]
            return NoLabelCounts(
                expression=expression,
                step=birth.step,
                labels=labels.name or "the labels",
                batch_is_empty=labels.tensor is not None and 0 in labels.tensor.shape,
                ignored=_ignored(labels.tensor),
            )
        case "count":
            total, count = argument(birth, 0), argument(birth, 1)
            return CountOfZero(
                expression=expression,
                step=birth.step,
                total=(total.name if total is not None else None) or "its dividend",
                count=(count.name if count is not None else None) or "its divisor",
            )
        case "deviation":
            return TooFewForDeviation(
                expression=expression, step=birth.step, elements=birth.reduced or 0
            )
    named = (operand.name for operand in tensors(birth) if operand.name)
    shapes = (operand.tensor.shape for operand in tensors(birth) if operand.tensor is not None)
    return NothingReduced(
        expression=expression,
        step=birth.step,
        operand=next(named, "its input"),
        shape=next(shapes, None),
    )
