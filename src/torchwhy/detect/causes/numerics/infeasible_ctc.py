from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import bad_values
from torchwhy.detect.views.nonfinite.birth_facts import (
    finding_from,
    operations,
    show,
    value_at_born,
)
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source


class InfeasibleCtc(Detector):
    """A CTC loss was asked to fit a target into an input that is too short for it."""

    name = "infeasible-ctc"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in operations(trace, "_ctc_loss", "ctc_loss", "_cudnn_ctc_loss"):
            yield self._finding(trace, birth)

    def _finding(self, trace: Trace, birth: Birth) -> Finding:
        frames, labels = _length(birth, "input_lengths"), _length(birth, "target_lengths")
        position = (birth.output.first_bad_index if birth.output else None) or birth.positions
        which = f"sample {position[0]}" if position else "a sample"
        known = frames is not None and labels is not None
        sizes = f" ({show(labels)} labels, {show(frames)} frames)" if known else ""
        message = (
            f"the target of {which} does not fit into its input{sizes}: no alignment exists, "
            "so its CTC loss is infinite"
        )
        evidence = [Evidence(f"target and input of {which}{sizes}", step=birth.step)]
        if frames is not None and labels is not None and labels <= frames:
            blank = "every pair of equal neighbours in a target needs one more frame, for the blank"
            evidence.append(Evidence(blank, step=birth.step))
        title = "drop pairs whose target needs more frames than the network gives, or pass `zero_infinity=True`"
        found = finding_from(trace, birth, detector=self.name, message=message, evidence=evidence)
        return replace(found, fixes=(Fix(title, safety="show-only"),))

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from bad_values.zero_infinity(finding, source)
        yield from bad_values.skip_bad_batch(finding, source)


def _length(birth: Birth, argument: str) -> float | None:
    for operand in birth.operands:
        if operand.argument == argument:
            return value_at_born(operand)
    return None
