from __future__ import annotations

import ast
from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.views.nonfinite.judging import short
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.learning import MetricReduced
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

MEASURABLE = 0.01  # relative difference from which a reader of two digits sees another number
SUMS = {"count": "right answers", "mean": "accuracies of batches", "loss": "mean losses of batches"}


class WrongMetricReduction(Detector):
    """A metric is added up over the batches of a loader and divided by the wrong number."""

    name = "wrong-metric-reduction"
    symptom = "evaluation"
    needs = frozenset({"metric"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for metric in trace.of(MetricReduced):
            given, right = decode(metric.given), decode(metric.right)
            by_batches = decode(metric.divisor) == metric.batches and metric.kind != "count"
            if by_batches and abs(given - right) < MEASURABLE * abs(right):
                continue
            yield self._finding(trace, metric, is_note=by_batches or metric.kind == "loss")

    def _finding(self, trace: Trace, metric: MetricReduced, *, is_note: bool) -> Finding:
        where = metric.location
        text = short(where.expression or "") if where is not None else metric.variable
        given, right = decode(metric.given), decode(metric.right)
        uneven = metric.last_batch != metric.first_batch
        sizes = f"{metric.batches} batches of {metric.first_batch}" + (
            f", the last of {metric.last_batch}" if uneven else ""
        )
        return Finding(
            detector=self.name,
            severity="note" if is_note else "warning",
            message=(
                f"`{text}` gives {given:.4g} in place of {right:.4g}: the sum of {SUMS[metric.kind]} is divided by "
                f"{decode(metric.divisor):g} {metric.divided_by}"
            ),
            step=metric.step,
            rank=trace.rank,
            location=where,
            evidence=(
                Evidence(
                    f"`{metric.variable}` was {decode(metric.total):.4g} after one pass over {metric.samples} samples "
                    f"({sizes})",
                    value=decode(metric.total),
                    step=metric.step,
                    location=metric.added_at,
                ),
                Evidence(f"over all {metric.samples} samples it is {right:.4g}", value=right),
            ),
            fixes=(Fix(advice_for(metric), safety="show-only"),),
        )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        """Yield `len(loader.dataset)` for `len(loader)` under a count; other forms have more than one good answer."""
        if "right answers" not in finding.message or not finding.message.endswith(" batches"):
            return
        node = source.at(finding.location)
        statement = None if finding.location is None else source.statement_at(finding.location.line)
        around = node if node is not None else statement
        lengths = [
            call
            for call in (source.calls("len", within=around) if around is not None else [])
            if len(call.args) == 1 and isinstance(call.args[0], ast.Name | ast.Attribute)
        ]
        if len(lengths) == 1:
            inner = source.of(lengths[0].args[0])
            yield from source.fix(
                "divide the count by the number of samples",
                source.replace(lengths[0], f"len({inner}.dataset)"),
            )


def advice_for(metric: MetricReduced) -> str:
    """Return what to divide by, or to add up."""
    if metric.kind == "count":
        return "divide the count of right answers by the number of samples: `len(loader.dataset)`"
    if decode(metric.divisor) == metric.batches:
        return "weigh each batch by its size, `total += value.item() * len(x)`, and divide by the number of samples"
    return (
        "divide means of batches by the number of batches, `len(loader)`, or add `value * len(x)`"
    )
