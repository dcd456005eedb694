from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchwhy.detect.base import Detector
from torchwhy.detect.fixes.values import bad_values, data
from torchwhy.detect.views.nonfinite.birth_facts import finding_from, op_name, tensors
from torchwhy.detect.views.nonfinite.origins import expression_of
from torchwhy.finding import Evidence, Finding, Fix
from torchwhy.record.events import Birth
from torchwhy.record.trace import Trace
from torchwhy.source.edits import Source

SOFTMAXES = frozenset(
    {"softmax", "_softmax", "log_softmax", "_log_softmax", "_safe_softmax", "_masked_softmax"}
)
ATTENTIONS = (
    "scaled_dot_product",
    "_transformer_encoder_layer_fwd",
    "_native_multi_head_attention",
)


class FullyMaskedSoftmax(Detector):
    """A softmax was taken over a row in which every position is masked."""

    name = "fully-masked-softmax"
    needs = frozenset({"birth"})

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for birth in trace.births:
            if birth.kind == "from-infinity" and birth.fully_infinite_row and _is_softmax(birth):
                yield self._finding(trace, birth)

    def propose(self, finding: Finding, source: Source) -> Iterator[Fix]:
        yield from data.finite_mask(source)
        yield from bad_values.open_row(finding, source)
        yield from data.other_mask(finding, source)
        yield from bad_values.skip_bad_batch(finding, source)

    def _finding(self, trace: Trace, birth: Birth) -> Finding:
        operand = next(iter(tensors(birth)), None)
        scores = operand.name if operand is not None and operand.name else "its scores"
        message = (
            f"{expression_of(birth, 'the softmax')} got a row{_row(birth)} in which every position is masked: "
            f"all of {scores} is -inf there, and the softmax of such a row is NaN"
        )
        evidence = [
            Evidence(f"a row of {scores} holds nothing but -inf", value="-inf", step=birth.step)
        ]
        title = (
            f"leave at least one position of every row open before the softmax of {scores}: drop empty samples, "
            "clamp the lengths to 1, or check that True means in the mask what the layer takes it to mean"
        )
        found = finding_from(trace, birth, detector=self.name, message=message, evidence=evidence)
        return replace(found, fixes=(Fix(title, safety="show-only"),))


def _is_softmax(birth: Birth) -> bool:
    name = op_name(birth)
    return name in SOFTMAXES or any(attention in name for attention in ATTENTIONS)


def _row(birth: Birth) -> str:
    """Return which row it was; not known where other rows rightly hold -inf, as after `log_softmax`."""
    output = birth.output
    if output is None or output.negative_infinity or len(output.first_bad_index or []) < 2:
        return ""
    return f" (row {(output.first_bad_index or [])[:-1]})"
