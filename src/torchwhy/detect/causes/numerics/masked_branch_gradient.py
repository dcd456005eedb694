from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import masked
from torchwhy.detect.rules.operand_domains import proven
from torchwhy.detect.views.nonfinite.judging import (
    BirthDiagnosis,
    Judgement,
    born,
    findings_by_place,
    forward_operand,
    name_of,
    short,
)
from torchwhy.detect.views.nonfinite.operand_facts import argument, mask_over
from torchwhy.detect.views.nonfinite.origins import word
from torchwhy.finding import Evidence, Finding, Fix, SourceSpan
from torchwhy.record.events import Birth
from torchwhy.record.numbers import Real
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class HiddenBranch(BirthDiagnosis):
    """A mask discarded elements in the forward pass, and their gradient is not finite."""

    name: str
    node: str | None
    value: Real
    mask: SourceSpan
    hides_finite_value: bool
    message = (
        "{hider} on line {mask.line} hides the value of {expression}, but not its gradient, "
        "which is {what}{samples}"
    )
    advice = (
        "mask {name} before {expression} as well: put a harmless value such as 1 where the result is not used, "
        "and keep the mask after it"
    )

    @property
    def hider(self) -> str:
        return short(self.mask.expression) if self.mask.expression else "a mask"

    @property
    def what(self) -> str:
        return word(self.value)

    def evidence(self) -> Iterator[Evidence]:
        state = "finite" if self.hides_finite_value else "not finite"
        yield Evidence(
            f"the hidden value itself was {state}, and did not reach the loss",
            step=self.step,
            location=self.mask,
        )
        if self.node is not None:
            yield Evidence(
                f"{self.node} computed the gradient of the hidden branch",
                value=self.value,
                step=self.step,
            )


class MaskedBranchGradient(Detector):
    """A mask hid a bad value in the forward pass, but its gradient came through in the backward pass."""

    name = "masked-branch-gradient"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        places = {birth.id: birth.location for birth in trace.births}

        def judged(birth: Birth) -> Judgement | None:
            # A mask that wrote the infinity comes before the birth, so it cannot hide it.
            is_source = any(places.get(parent) == mask_over(birth) for parent in birth.parents)
            return None if is_source else judge(birth)

        yield from findings_by_place(trace, self.name, judged)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from masked.for_masked(finding.location, source)


def judge(birth: Birth) -> Judgement | None:
    """Return the branch that a birth differentiates and a mask hid in the forward pass, or None."""
    mask = mask_over(birth)
    if proven(birth, MaskedBranchGradient.name) is None or mask is None:
        return None
    forward = birth.forward
    diagnosis = HiddenBranch(
        at=born(birth),
        name=forward_operand(birth) if forward is not None else name_of(argument(birth, 0)),
        node=birth.node,
        value=birth.value,
        mask=mask,
        hides_finite_value=forward is not None and forward.output_finite,
    )
    return Judgement(diagnosis)
