from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.training import loss_scales
from torchwhy.detect.fixes.values import data
from torchwhy.detect.rules.message_kinds import NumberTooLarge
from torchwhy.detect.rules.operand_domains import proven
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.detect.views.nonfinite.birth_facts import show
from torchwhy.detect.views.nonfinite.judging import (
    BirthDiagnosis,
    Judgement,
    born,
    findings_by_place,
)
from torchwhy.detect.views.nonfinite.operand_facts import LARGEST, is_formula
from torchwhy.detect.views.nonfinite.range_facts import name_of_largest, operand_ranges, size_of
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth, ScaleChanged
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class HalfOverflow(BirthDiagnosis):
    """A result exceeds the range of float16, but is finite in float32."""

    name: str
    size: float | None
    limit: float = LARGEST["float16"]
    message = "{expression} exceeds {limit:.0f}, the largest float16 number: {name} reached {reached}{samples}"
    advice = (
        "compute {expression} in float32 ({name}.float()), use bfloat16, or scale {name} down first"
    )

    @property
    def reached(self) -> str:
        return show(self.size)


class HalfGradientOverflow(HalfOverflow):
    """A gradient exceeds the range of float16, but is finite in float32."""

    node: str
    message = (
        "in the backward pass ({node}), {expression} exceeds {limit:.0f}, the largest float16 number: "
        "{name} reached {reached}{samples}"
    )
    advice = (
        "use torch.amp.GradScaler, which lowers the loss scale automatically, "
        "or bfloat16, which has the range of float32"
    )


class NumberBeyondHalf(Diagnosis):
    """The program writes a number beyond the range of float16 into a float16 tensor."""

    expression: str
    tensor: str | None
    limit: float = LARGEST["float16"]
    message = (
        "`{expression}` writes a number beyond {limit:.0f}, the largest float16 number, into {into}"
    )
    advice = "use the bound of the dtype: torch.finfo({name}.dtype).min"

    @property
    def into(self) -> str:
        return f"{self.tensor}, which is float16" if self.tensor else "a float16 tensor"

    @property
    def name(self) -> str:
        return self.tensor or "x"


class HalfPrecisionOverflow(Detector):
    """A float16 result exceeded 65504, the largest float16 number, where float32 would have been fine."""

    name = "half-precision-overflow"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        alarmed = {alarm.step for alarm in trace.alarms}
        scaled = bool(trace.of(ScaleChanged))

        def judge_unscaled(birth: Birth) -> Judgement | None:
            # A GradScaler tries large scales on purpose and skips the step if a gradient overflows.
            if scaled and birth.node is not None and birth.step not in alarmed:
                return None
            return judge(birth)

        yield from findings_by_place(trace, self.name, judge_unscaled)
        for crash in crashes(trace):
            if isinstance(crash.said, NumberTooLarge):
                yield refused(crash, self.name)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from data.fitting_number(finding.location, source)
        if isinstance(finding.diagnosis, HalfGradientOverflow):
            yield from loss_scales.smaller(source)
        yield from data.wider(finding.location, source)


def judge(birth: Birth) -> Judgement | None:
    """Return the float16 overflow that a birth proves by being finite in a wider dtype, or None."""
    violation = proven(birth, HalfPrecisionOverflow.name)
    if violation is None:
        return None
    size = size_of(violation.operand) if violation.operand is not None else None
    name = name_of_largest(birth)
    wider = Evidence("the same operation in a wider dtype is finite", step=birth.step)
    diagnosis = HalfOverflow(at=born(birth), name=name, size=size)
    if is_formula(birth):
        diagnosis = HalfGradientOverflow(
            at=born(birth), name=name, size=size, node=birth.node or ""
        )
    return Judgement(diagnosis, (*operand_ranges(birth), wider))


def refused(crash: CrashView, detector: str) -> Finding:
    """Return the finding about a number that torch refused to write into a float16 tensor."""
    half = (tensor.name for tensor in crash.event.operands if tensor.dtype == "float16")
    diagnosis = NumberBeyondHalf(expression=crash.expression, tensor=next(half, None))
    return crash.finding(detector, diagnosis, evidence=crash.operand_evidence)
