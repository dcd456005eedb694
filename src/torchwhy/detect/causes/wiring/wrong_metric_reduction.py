from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import AVERAGES
from torchwhy.detect.fixes.values import reductions
from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import ComparedAll, ForwardModes, MetricReduced
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.analyses.averages import overwritten_at
from torchwhy.source.edits import Source

MEASURABLE = 0.01  # A smaller relative difference does not show in two digits.
SUMS = {"count": "right answers", "mean": "accuracies of batches", "loss": "mean losses of batches"}


class WrongDivisor(Diagnosis):
    """The divisor of a sum over the batches of a loader does not make it a mean over the samples."""

    written: str
    variable: str
    kind_of_sum: Literal["count", "mean", "loss"]
    total: float
    divisor: float
    divided_by: str
    given: float
    right: float
    batches: int
    samples: int
    first_batch: int
    last_batch: int
    added_at: SourceSpan | None
    seen_at: int
    message = (
        "`{written}` gives {given:.4g} instead of {right:.4g}: the sum of {summed} is divided by "
        "{divisor:g} {divided_by}"
    )
    advice = "{better}"

    @property
    def by_batches(self) -> bool:
        """Tell whether the sum is divided by the number of batches."""
        return self.divisor == self.batches

    @property
    def summed(self) -> str:
        """Return what the program sums."""
        return SUMS[self.kind_of_sum]

    @property
    def better(self) -> str:
        """Return what to divide by or to sum."""
        if self.kind_of_sum == "count":
            return (
                "divide the count of right answers by the number of samples: `len(loader.dataset)`"
            )
        if self.by_batches:
            return (
                "weight each batch by its size, `total += value.item() * len(x)`, "
                "and divide by the number of samples"
            )
        return (
            "divide means of batches by the number of batches, `len(loader)`, "
            "or add `value * len(x)`"
        )

    def evidence(self) -> Iterator[Evidence]:
        uneven = f", the last of {self.last_batch}" if self.last_batch != self.first_batch else ""
        yield Evidence(
            f"`{self.variable}` was {self.total:.4g} after one pass over {self.samples} samples "
            f"({self.batches} batches of {self.first_batch}{uneven})",
            value=self.total,
            step=self.seen_at,
            location=self.added_at,
        )
        yield Evidence(f"over all {self.samples} samples it is {self.right:.4g}", value=self.right)


class EachWithEach(Diagnosis):
    """Each prediction is compared with each label, because the shapes differ by a dimension of size 1."""

    written: str
    operands: list[str]
    shapes: list[Shape]
    rows: int
    message = (
        "`{written}` compares each of {rows} predictions with each of {rows} labels: torch spreads {first} and "
        "{second} to [{rows}, {rows}]"
    )
    advice = "give both the same shape: `squeeze(1)` for the column, or `unsqueeze(1)` for the row"

    @property
    def first(self) -> Shape:
        """Return the shape of the left side."""
        return self.shapes[0]

    @property
    def second(self) -> Shape:
        """Return the shape of the right side."""
        return self.shapes[1]

    def evidence(self) -> Iterator[Evidence]:
        for operand, shape in zip(self.operands, self.shapes, strict=True):
            yield Evidence(f"`{operand}` has shape {shape}")


class LastBatchOnly(Diagnosis):
    """A sum over batches is assigned anew in each of them, so only the last one counts."""

    variable: str
    other: str
    divisor: str
    batches: float
    message = (
        "`{variable}` holds the last batch only: each of {batches:.0f} batches assigns it anew, "
        "and it is divided by {divisor} like the sum `{other}`"
    )
    advice = "add to it: `{variable} += …`"


class WrongMetricReduction(Detector):
    """A metric is summed over the batches of a loader and divided by the wrong number."""

    name = "wrong-metric-reduction"
    question = AVERAGES
    symptom = "evaluation"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for metric in trace.of(MetricReduced):
            diagnosis = _diagnosis(metric)
            is_slight = diagnosis.by_batches and metric.kind != "count"
            difference = abs(diagnosis.given - diagnosis.right)
            if is_slight and difference < MEASURABLE * abs(diagnosis.right):
                continue
            yield self.found(
                trace,
                diagnosis,
                severity="note" if is_slight or metric.kind == "loss" else "warning",
                step=metric.step,
                location=metric.location,
            )
        yield from self._spread(trace)
        yield from self._overwritten(trace)

    def _spread(self, trace: Trace) -> Iterator[Finding]:
        """Yield the comparisons of each prediction with each label."""
        for one in trace.of(ComparedAll):
            diagnosis = EachWithEach(
                written=short(one.location.expression or "") if one.location is not None else "==",
                operands=one.operands,
                shapes=one.shapes,
                rows=one.shapes[0][0],
            )
            yield self.found(
                trace, diagnosis, severity="error", step=one.step, location=one.location
            )

    def _overwritten(self, trace: Trace) -> Iterator[Finding]:
        """Yield the sums over batches of an evaluation that each batch assigns anew."""
        for mode in trace.of(ForwardModes):
            place = mode.location
            source = trace.files.get(place.file) if place is not None else None
            is_loop = not mode.grad and not mode.backwards and mode.count > mode.steps
            if place is None or source is None or not is_loop:
                continue
            found = overwritten_at(source, place.line)
            if found is not None:
                diagnosis = LastBatchOnly(
                    variable=found.variable,
                    other=found.other,
                    divisor=found.divisor,
                    batches=mode.count / mode.steps,
                )
                yield self.found(
                    trace,
                    diagnosis,
                    severity="warning",
                    step=mode.first_step,
                    location=source.span(found.assigned),
                )
                return

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        match finding.diagnosis:
            case WrongDivisor(kind_of_sum="count", by_batches=True):
                yield from reductions.divided_by_samples(finding.location, source)


def _diagnosis(metric: MetricReduced) -> WrongDivisor:
    where = metric.location
    return WrongDivisor(
        written=short(where.expression or "") if where is not None else metric.variable,
        variable=metric.variable,
        kind_of_sum=metric.kind,
        total=decode(metric.total),
        divisor=decode(metric.divisor),
        divided_by=metric.divided_by,
        given=decode(metric.given),
        right=decode(metric.right),
        batches=metric.batches,
        samples=metric.samples,
        first_batch=metric.first_batch,
        last_batch=metric.last_batch,
        added_at=metric.added_at,
        seen_at=metric.step,
    )
