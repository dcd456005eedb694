from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import guards
from torchwhy.detect.views.nonfinite.judging import (
    Verdict,
    expression_of,
    findings_by_place,
    forward_operand,
    samples_of,
    short,
)
from torchwhy.detect.views.nonfinite.operand_facts import is_masked
from torchwhy.detect.views.nonfinite.origins import word
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class MaskedBranchGradient(Detector):
    """A mask hid a bad value in forward, and its gradient came through in backward."""

    name = "masked-branch-gradient"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from findings_by_place(trace, self.name, judge)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from guards.for_masked(finding, source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise a backward birth at elements that were discarded in forward."""
    if birth.kind == "source" or birth.forward is None or not is_masked(birth):
        return None
    mask = birth.forward.hidden_by
    by = short(mask.expression) if mask is not None and mask.expression else "a mask"
    line = f" on line {mask.line}" if mask is not None else ""
    name = forward_operand(birth)
    state = "finite" if birth.forward.output_finite else "not finite"
    return Verdict(
        f"{by}{line} hides the value of {expression_of(birth)}, but not its gradient, which is "
        f"{word(birth.value)}{samples_of(birth)}",
        (
            Evidence(
                f"the hidden value itself was {state}, and did not reach the loss",
                step=birth.step,
                location=mask,
            ),
            Evidence(
                f"{birth.node} computed the gradient of the hidden branch",
                value=birth.value,
                step=birth.step,
            ),
        ),
        f"mask {name} before {expression_of(birth)}: put a harmless value such as 1 where the result is not used, "
        "and keep the mask behind it",
    )
