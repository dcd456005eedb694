from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import bad_values
from torchwhy.detect.views.nonfinite.birth_facts import (
    finding_from,
    operations,
    show,
    value_at_born,
)
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class TargetTooLong(Diagnosis):
    """The target of a CTC loss needs more frames than its input has."""

    sample: int | None
    labels: float | None
    frames: float | None
    step: int
    message = (
        "the target of {which} does not fit into its input{sizes}: no alignment exists, "
        "so its CTC loss is infinite"
    )
    advice = "drop pairs whose target needs more frames than the network outputs, or pass `zero_infinity=True`"

    @property
    def which(self) -> str:
        return "a sample" if self.sample is None else f"sample {self.sample}"

    @property
    def sizes(self) -> str:
        if self.labels is None or self.frames is None:
            return ""
        return f" ({show(self.labels)} labels, {show(self.frames)} frames)"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(f"target and input of {self.which}{self.sizes}", step=self.step)
        if self.labels is not None and self.frames is not None and self.labels <= self.frames:
            blank = "each repeated label in a target needs one more frame, for the blank before it"
            yield Evidence(blank, step=self.step)


class InfeasibleCtc(Detector):
    """A CTC loss got a target that does not fit into its input."""

    name = "infeasible-ctc"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in operations(trace, "_ctc_loss", "ctc_loss", "_cudnn_ctc_loss"):
            position = (birth.output.first_bad_index if birth.output else None) or birth.positions
            diagnosis = TargetTooLong(
                sample=position[0] if position else None,
                labels=_length(birth, "target_lengths"),
                frames=_length(birth, "input_lengths"),
                step=birth.step,
            )
            yield finding_from(trace, birth, detector=self.name, diagnosis=diagnosis)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from bad_values.zero_infinity(finding.location, source)
        yield from bad_values.skip_bad_batch(finding.location, source)


def _length(birth: Birth, argument: str) -> float | None:
    for operand in birth.operands:
        if operand.argument == argument:
            return value_at_born(operand)
    return None
