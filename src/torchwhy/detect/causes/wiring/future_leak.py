from __future__ import annotations

from collections.abc import Iterator

from torchwhy.detect.base import Detector
from torchwhy.detect.checks.questions.model.future_unseen import QUESTION
from torchwhy.detect.views.rehearsed.changed_elements import future_seen, own_element
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Evidence, Finding
from torchwhy.record.trace import Trace

NOTICEABLE = 1e-5  # Of the largest output: rounding changes an output by 1e-7 of it, a leak by 1e-3 and more.
CONVOLUTIONS = frozenset({"convolution", "conv1d", "mkldnn_convolution"})
RECURRENT = frozenset({"mkldnn_rnn_layer", "_cudnn_rnn", "lstm", "gru", "cat", "stack"})

CAUSAL = (
    "pass a causal mask: `is_causal=True` in scaled_dot_product_attention, "
    "`mask=nn.Transformer.generate_square_subsequent_mask(length)` in a transformer"
)


class NextElementSeen(Diagnosis):
    """The model sees the element that it is trained to predict."""

    position: int
    length: int
    before: float
    after: float
    operation: str
    is_masked: bool
    message = (
        "the output at position {earlier} sees element {position}, which it is trained to predict: "
        "the targets are the inputs shifted by one{despite}"
    )

    @property
    def earlier(self) -> int:
        """Return the position whose target is the changed element."""
        return self.position - 1

    @property
    def despite(self) -> str:
        """Return that there is a mask, if there is one."""
        return ", and this mask lets the future through" if self.is_masked else ""

    @property
    def remedies(self) -> tuple[str, ...]:
        """Return how to hide the future from this kind of layer."""
        if self.operation in CONVOLUTIONS:
            return ("pad on the left only: `F.pad(x, (kernel_size - 1, 0))`, and `padding=0`",)
        if self.operation in RECURRENT:
            return ("predict with a recurrent layer of one direction: `bidirectional=False`",)
        if self.is_masked:
            return ("let each position attend to itself and to earlier ones: `torch.tril`",)
        return (CAUSAL,)

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"changing element {self.position} of {self.length} moved the output at position {self.earlier} by "
            f"{self.before:.2g} of its size (tried on a copy of a training step)",
            value=self.before,
        )
        yield Evidence(f"the outputs from there on moved by up to {self.after:.2g}")


class OwnElementSeen(Diagnosis):
    """Each output of a model that reads in order has as target what the model gets at that position."""

    position: int
    length: int
    own: float
    later: float
    message = (
        "each output is trained to say the element that the model gets at the same position: "
        "the targets are the inputs, not shifted by one"
    )
    advice = "shift by one: inputs without the last element (`x[:, :-1]`), targets without the first (`x[:, 1:]`)"

    def evidence(self) -> Iterator[Evidence]:
        yield Evidence(
            f"changing element {self.position} of {self.length} moved the output at this position by {self.own:.2g} "
            f"of its size, later ones by up to {self.later:.2g}, and none before: the model reads in order",
            value=self.own,
        )


class FutureLeak(Detector):
    """A model that is trained to predict the next element of a sequence sees it."""

    name = "future-leak"
    only_in_check = True
    question = QUESTION

    def scan(self, trace: Trace) -> Iterator[Finding]:
        yield from self._own_elements(trace)
        seen = future_seen(trace)
        if seen is None or seen.before <= NOTICEABLE:
            return
        diagnosis = NextElementSeen(
            position=seen.position,
            length=seen.length,
            before=seen.before,
            after=seen.after,
            operation=seen.operation,
            is_masked=seen.mask is not None,
        )
        yield self.found(
            trace,
            diagnosis,
            severity="error",
            step=0,
            location=seen.mask or seen.mixing or seen.output,
            certainty="replayed",
        )

    def _own_elements(self, trace: Trace) -> Iterator[Finding]:
        """Yield a model that reads in order and is trained to say what it has just got."""
        seen = own_element(trace)
        if seen is None or min(seen.own, seen.later) <= NOTICEABLE:
            return
        diagnosis = OwnElementSeen(
            position=seen.position, length=seen.length, own=seen.own, later=seen.later
        )
        yield self.found(
            trace,
            diagnosis,
            severity="warning",
            step=0,
            location=seen.output or seen.enters,
            certainty="replayed",
        )
