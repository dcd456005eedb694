from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.causes.numerics import exp_overflow
from torchwhy.detect.causes.numerics.float_overflow import fact_of, inner_name, size_of
from torchwhy.detect.fixes.training import loss_scales
from torchwhy.detect.fixes.values import data
from torchwhy.detect.views.crash.crash_facts import (
    crashes,
    finding_of,
    operand_evidence,
    says,
)
from torchwhy.detect.views.crash.crash_facts import (
    expression_of as crashed_at,
)
from torchwhy.detect.views.nonfinite.birth_facts import show
from torchwhy.detect.views.nonfinite.judging import (
    Verdict,
    expression_of,
    findings_by_place,
    samples_of,
)
from torchwhy.detect.views.nonfinite.operand_facts import (
    LARGEST,
    arguments,
    is_formula,
    is_masked,
    output_type,
    underflowed_operand,
    zero_divisor,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, Crash, ScaleChanged
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

DOES_NOT_FIT = r"value cannot be converted to type (?:c10|at)::Half without overflow"


class HalfPrecisionOverflow(Detector):
    """A result exceeded 65504, the largest number of float16, where float32 would have been fine."""

    name = "half-precision-overflow"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        alarmed = {alarm.step for alarm in trace.alarms}
        scaled = bool(trace.of(ScaleChanged))

        def judge_unscaled(birth: Birth) -> Verdict | None:
            # A GradScaler tries large scales on purpose, and skips the step when a gradient overflows.
            if scaled and birth.node is not None and birth.step not in alarmed:
                return None
            return judge(birth)

        yield from findings_by_place(trace, self.name, judge_unscaled)
        for crash in crashes(trace):
            if says(crash, DOES_NOT_FIT):
                yield refused(trace, crash, self.name)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from data.fitting_number(finding, source)
        yield from loss_scales.smaller(finding, source)
        yield from data.wider(finding, source)


def judge(birth: Birth) -> Verdict | None:
    """Recognise a float16 result that is finite in a wider type."""
    if birth.kind != "operation" or output_type(birth) != "float16" or is_masked(birth):
        return None
    if (
        birth.wider != "finite"
        or zero_divisor(birth) is not None
        or underflowed_operand(birth) is not None
    ):
        return None
    if exp_overflow.judge(birth) is not None:
        return None
    largest = max(arguments(birth), key=size_of, default=None)
    way = f"in the gradient ({birth.node}), " if is_formula(birth) else ""
    who = "its largest operand" if is_formula(birth) else inner_name(birth, largest)
    size = show(size_of(largest)) if largest is not None else "?"
    facts = (
        *(fact_of(birth, operand) for operand in arguments(birth)[:3]),
        Evidence("the same operation in a wider type is finite", step=birth.step),
    )
    return Verdict(
        f"{way}{expression_of(birth)} exceeds {LARGEST['float16']:.0f}, the largest number of float16: "
        f"{who} reached {size}{samples_of(birth)}",
        facts,
        advice_for(birth, who),
    )


def advice_for(birth: Birth, who: str) -> str:
    """Return the usual cures: in backward it is the loss scale, in forward the type of this operation."""
    if is_formula(birth):
        return "use torch.amp.GradScaler, which lowers the loss scale by itself, or bfloat16, which has float32's range"
    return f"compute {expression_of(birth)} in float32 ({who}.float()), use bfloat16, or make {who} smaller first"


def refused(trace: Trace, crash: Crash, detector: str) -> Finding:
    """Return the finding about a number that torch refused to write into a float16 tensor."""
    half = [tensor.name for tensor in crash.operands if tensor.dtype == "float16"]
    into = f"{half[0]}, which is float16" if half else "a float16 tensor"
    return finding_of(
        trace,
        crash,
        detector=detector,
        message=f"`{crashed_at(crash)}` writes a number beyond {LARGEST['float16']:.0f}, the largest of float16, "
        f"into {into}",
        evidence=operand_evidence(crash),
        fixes=[
            Fix(
                f"write the type's own bound: torch.finfo({half[0] if half else 'x'}.dtype).min",
                safety="show-only",
            )
        ],
    )
