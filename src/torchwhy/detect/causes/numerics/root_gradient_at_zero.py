from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import guards
from torchwhy.detect.rules.operand_domains import proven
from torchwhy.detect.views.nonfinite.judging import (
    BirthDiagnosis,
    Judgement,
    born,
    findings_by_place,
    forward_operand,
)
from torchwhy.finding import Evidence, Finding, Fix, Label
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class RootGradient(BirthDiagnosis):
    """The gradient of a root was computed at 0, where it is infinite."""

    name: str
    node: str
    root: str
    message = "{expression} has an infinite gradient at 0: {where} was exactly 0{samples}"
    headline = "{expression} has an infinite gradient at 0"
    advice = (
        "add a small constant under the root: sqrt(x + 1e-12) instead of {expression}, "
        "or use the square itself"
    )

    @property
    def where(self) -> str:
        return self.name if self.name == "its operand" else f"its operand {self.name}"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"{self.where} was exactly 0",
            value=0.0,
            step=self.step,
            label=Label(self.name, "was exactly 0"),
        )
        claim = f"{self.node} divides by the value of {self.root}, which was 0"
        yield Evidence(claim, value=0.0, step=self.step)
        yield Evidence("the forward value is finite, only the gradient is not", step=self.step)


class PowerGradient(RootGradient):
    """The gradient of a power below 1 was computed at 0, where it is infinite."""

    advice = (
        "add a small constant to the base, ({name} + 1e-12), or use an exponent of at least 1, whose gradient at 0 is "
        "finite"
    )


class DeviationGradient(RootGradient):
    """The gradient of a standard deviation was computed for equal values, where it is infinite."""

    message = "{expression} has an infinite gradient at 0: all its values were equal{samples}"
    headline = "{expression} has an infinite gradient at 0: all its values were equal"

    def evidence(self) -> Iterator[Evidence]:
        yield from tuple(super().evidence())[1:]


class RootGradientAtZero(Detector):
    """The gradient of a root was taken at exactly zero, where it is infinite."""

    name = "root-gradient-at-zero"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from guards.for_root(finding.location, source)


def judge(birth: Birth) -> Judgement | None:
    """Return the root that a birth differentiates at 0, or None."""
    violation = proven(birth, RootGradientAtZero.name)
    if violation is None:
        return None
    kinds = {"deviation": DeviationGradient, "power": PowerGradient}
    kind = kinds.get(violation.row.case, RootGradient)
    diagnosis = kind(
        at=born(birth),
        name=forward_operand(birth),
        node=birth.node or "",
        root=violation.row.noun,
    )
    return Judgement(diagnosis)
