from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.standing_questions import AVERAGES
from torchwhy.detect.fixes.values import reductions
from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.learning import MetricReduced
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
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
