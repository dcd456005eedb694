from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.model.nothing_thrown_away import QUESTION
from torchwhy.detect.fixes.models.assignments import assign_result, in_place
from torchwhy.detect.views.graph.dropped_tensors import DroppedTensor, dropped_tensors
from torchwhy.diagnosis import Diagnosis, Shape
from torchwhy.finding import Evidence, Finding, Fix, Severity
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

OPERANDS = {
    "value": "the loss depends on what it was computed from, and not on the result",
    "gradient": "it was computed from a gradient, which it did not change",
    "batch": "the loss depends on the same part of the batch, and not on the result",
    "parameter": "it was computed from a parameter, which it did not change",
}


class ThrownAway(Diagnosis):
    """A statement computes a tensor and throws it away; `variable` is what it was meant to change."""

    expression: str
    variable: str | None
    operand: str
    result: Shape
    seen_at: int
    message = "`{expression}` returns a new tensor, and the program throws it away: {unchanged}"
    advice = "assign the result: `{target} = {expression}`"

    @property
    def unchanged(self) -> str:
        return f"`{self.variable}` stays as it was" if self.variable else "nothing changes"

    @property
    def target(self) -> str:
        return self.variable or "…"

    def evidence(self) -> Iterator[Evidence]:
        what = f"a tensor of shape {self.result}" if self.result else "one number"
        yield Evidence(f"the result is {what}: {OPERANDS[self.operand]}", step=self.seen_at)


class LeftUnchanged(ThrownAway):
    """A statement computes new values of a parameter or a gradient and throws them away."""

    advice = "change it in place, by the operation whose name ends in `_` (a parameter inside `with torch.no_grad():`)"


class DiscardedResult(Detector):
    """A statement computes a tensor and throws it away."""

    name = "discarded-result"
    question = QUESTION
    every_observation = True

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for dropped in dropped_tensors(trace):
            if dropped.may_be_shown and not dropped.fits:
                continue  # a look at the data, in a file that an editor runs cell by cell
            seen = dropped.seen
            kind = ThrownAway if seen.operand in ("value", "batch") else LeftUnchanged
            diagnosis = kind(
                expression=dropped.text,
                variable=dropped.variable,
                operand=seen.operand,
                result=list(seen.shape),
                seen_at=seen.step,
            )
            yield self.found(
                trace,
                diagnosis,
                severity=_severity(dropped),
                step=seen.step,
                location=seen.location,
            )

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        is_in_place = isinstance(finding.diagnosis, LeftUnchanged)
        yield from (in_place if is_in_place else assign_result)(finding.location, source)


def _severity(dropped: DroppedTensor) -> Severity:
    """Return a warning where the result was meant to replace its operand; a number may be left over from debugging."""
    return "warning" if dropped.fits and not dropped.may_be_shown else "note"
