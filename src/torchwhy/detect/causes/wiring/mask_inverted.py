from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.model.padding_ignored import QUESTION
from torchwhy.detect.views.rehearsed.changed_elements import PaddingTried, padding_tried
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.trace import Trace

NOTICEABLE = 1e-4  # Of the largest output: rounding changes an output by 1e-7 of it.
VANISHES = 1e-3  # Share of the effect that is left when the mask is turned; a mask that fits leaves nothing.


class PaddingSeen(Diagnosis):
    """The mask hides the sequences and shows the padding."""

    padded: int
    elements: int
    padding: float
    sequences: float
    padding_turned: float
    sequences_turned: float
    message = "this mask is the wrong way round: it shows the padding and hides the rest"
    advice = (
        "invert the mask (`~mask`): in `key_padding_mask` and `masked_fill` True hides a position, in the `attn_mask` "
        "of scaled_dot_product_attention True shows it, and a factor of 0 hides it"
    )

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"changing the {self.padded} padded of {self.elements} elements moved the outputs for the others by "
            f"{self.padding:.2g} of their size, and by {self.padding_turned:.2g} with the mask inverted "
            "(tried on a copy of a training step)",
            value=self.padding,
        )
        yield Evidence(
            f"changing the sequences moved them by {self.sequences:.2g}, and by {self.sequences_turned:.2g} with the "
            "mask inverted"
        )


class MaskedTooLate(Diagnosis):
    """The mask multiplies the weights after the softmax, which has shared them with the padding already."""

    padded: int
    elements: int
    padding: float
    masked_before: float
    message = "this mask comes after the softmax, so padding still takes a share of the attention"
    advice = "mask the scores before the softmax: `scores.masked_fill(mask == 0, float('-inf'))`"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"changing the {self.padded} padded of {self.elements} elements moved the outputs for the others by "
            f"{self.padding:.2g} of their size, and by {self.masked_before:.2g} with the scores masked before the "
            "softmax (tried on a copy of a training step)",
            value=self.padding,
        )


class MaskInverted(Detector):
    """A padding mask is the wrong way round: padding matters, and real elements are hidden."""

    name = "mask-inverted"
    only_in_check = True
    question = QUESTION

    def scan(self, trace: Trace) -> Iterator[Finding]:
        tried = padding_tried(trace)
        diagnosis = _judge(tried) if tried is not None else None
        if tried is None or diagnosis is None:
            return
        yield self.found(
            trace,
            diagnosis,
            severity="error" if isinstance(diagnosis, PaddingSeen) else "warning",
            step=0,
            location=tried.mask,
            certainty="replayed",
        )


def _judge(tried: PaddingTried) -> Diagnosis | None:
    if tried.padding <= NOTICEABLE:
        return None
    left = VANISHES * tried.padding
    if tried.masked_before is not None and tried.masked_before <= left < tried.padding_turned:
        return MaskedTooLate(
            padded=tried.padded,
            elements=tried.elements,
            padding=tried.padding,
            masked_before=tried.masked_before,
        )
    if tried.padding_turned > left or not tried.sequences_turned:
        return None
    return PaddingSeen(
        padded=tried.padded,
        elements=tried.elements,
        padding=tried.padding,
        sequences=tried.sequences,
        padding_turned=tried.padding_turned,
        sequences_turned=tried.sequences_turned,
    )
