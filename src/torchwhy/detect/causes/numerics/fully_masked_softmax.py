from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import bad_values, data
from torchwhy.detect.rules.operand_domains import proven
from torchwhy.detect.views.nonfinite.birth_facts import finding_from, tensors
from torchwhy.detect.views.nonfinite.origins import expression_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class RowOfInfinities(Diagnosis):
    """A softmax got a row that contains only -inf; `row` is its index, if known."""

    expression: str
    scores: str
    row: list[int]
    step: int
    message = (
        "{expression} got a row{which} in which every position is masked: "
        "every value of {scores} is -inf there, and the softmax of such a row is NaN"
    )
    advice = (
        "leave at least one position of every row unmasked before the softmax of {scores}: drop empty samples, "
        "clamp the lengths to at least 1, or check whether True in the mask means keep or mask for this layer"
    )

    @property
    def which(self) -> str:
        return f" (row {self.row})" if self.row else ""

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"a row of {self.scores} contains only -inf", value="-inf", step=self.step)


class FullyMaskedSoftmax(Detector):
    """A softmax was taken over a row in which every position is masked."""

    name = "fully-masked-softmax"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in trace.births:
            if proven(birth, self.name) is not None:
                diagnosis = RowOfInfinities(
                    expression=expression_of(birth, "the softmax"),
                    scores=_scores(birth),
                    row=_row(birth),
                    step=birth.step,
                )
                yield finding_from(trace, birth, detector=self.name, diagnosis=diagnosis)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from data.finite_mask(source)
        yield from bad_values.open_row(finding.location, source)
        yield from data.inverted_mask(finding.location, source)
        yield from bad_values.skip_bad_batch(finding.location, source)


def _scores(birth: Birth) -> str:
    operand = next(iter(tensors(birth)), None)
    return operand.name if operand is not None and operand.name else "its scores"


def _row(birth: Birth) -> list[int]:
    """Return the index of the row, or nothing if -inf may be right in other rows, as after `log_softmax`."""
    output = birth.output
    if output is None or output.negative_infinity:
        return []
    return (output.first_bad_index or [])[:-1]
