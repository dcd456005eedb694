from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from torchwhy.detect.base import Detector
from torchwhy.detect.rules.message_kinds import InputDimensions, NoSecondDimension
from torchwhy.detect.views.crash.crash_evidence import Sized, sized
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.detect.views.crash.operand_trials import BATCH_OF_TWO, BATCHED_MODEL
from torchwhy.diagnosis import Diagnosis
from torchwhy.finding import Finding
from torchwhy.record.events import OperandTrial
from torchwhy.record.trace import Trace
from torchwhy.source.calls import Call
from torchwhy.source.values import expression_of, text_of


class SampleTakenForBatch(Diagnosis):
    """A model took the first dimension of one sample for the batch, and works on a batch."""

    sample: Sized
    layer: str | None  # the layer that raises
    rows: Literal["one", "two"]  # the smallest batch that works
    message = (
        "{sample} is one sample without a batch dimension: the model takes its first dimension for the batch"
        "{raising}; as a batch of {rows} it works"
    )

    @property
    def raising(self) -> str:
        """Return a clause with the layer that raises."""
        return f", and {self.layer} raises" if self.layer is not None else ""


class SampleForBatch(Diagnosis):
    """A layer or loss that expects a batch got one sample."""

    sample: Sized
    taker: str  # the layer, or the expression
    message = "{sample} is one sample without a batch dimension, but {taker} expects a batch"
    advice = (
        "add the batch dimension with `{name}.unsqueeze(0)`, or take the sample from a DataLoader"
    )

    @property
    def name(self) -> str:
        """Return the sample in code; `x` if the program has no name for it."""
        return self.sample.name if expression_of(self.sample.name) is not None else "x"


class MissingBatchDimension(Detector):
    """A layer or loss that expects a batch got a single sample."""

    name = "missing-batch-dimension"

    def scan(self, trace: Trace) -> Iterator[Finding]:
        for crash in crashes(trace):
            if crash.is_in_loader:
                continue
            whole = next(iter(crash.working(BATCHED_MODEL, BATCH_OF_TWO)), None)
            if whole is not None:
                yield self._of_model(crash, whole)
            elif crash.is_without_batch or _is_one_short(crash):
                yield self._of_layer(crash)

    def _of_model(self, crash: CrashView, whole: OperandTrial) -> Finding:
        """Return the finding for a model that took one sample for a batch and failed only after it flattened it."""
        shape = next((one.shape for one in crash.event.walk if one.what == "input"), None)
        diagnosis = SampleTakenForBatch(
            sample=Sized(whole.target or _first_argument(whole) or "the input of the model", shape),
            layer=crash.layer.path if crash.layer is not None else None,
            rows="one" if whole.kind == BATCHED_MODEL else "two",
        )
        return crash.finding(
            self.name,
            diagnosis,
            evidence=[*crash.walk_evidence, *crash.operand_evidence],
            location=whole.location,
            fixes=crash.fixes(BATCHED_MODEL, BATCH_OF_TWO),
        )

    def _of_layer(self, crash: CrashView) -> Finding:
        layer, loss = crash.refusing_layer, crash.loss_expression
        written = loss.expression if loss is not None else None
        taker = layer.path if layer is not None else written or crash.expression
        diagnosis = SampleForBatch(sample=_sample(crash), taker=taker)
        return crash.finding(
            self.name,
            diagnosis,
            evidence=[*crash.operand_evidence, *crash.walk_evidence],
            location=crash.loss_expression,
            cures=crash.fixes("add-batch", "batch-of-one"),
        )


def _is_one_short(crash: CrashView) -> bool:
    """Tell whether the message of torch says that the input has too few dimensions, not too many."""
    match crash.said:
        case NoSecondDimension():
            return any(len(tensor.shape) == 1 for tensor in crash.tensors)
        case InputDimensions(least=least, most=most, given=given):
            shape, wanted = crash.numbers("layer_input"), most or least or given
            return shape is None or wanted is None or len(shape) < wanted
    return False


def _sample(crash: CrashView) -> Sized:
    """Return the single sample: the input of the layer, or the output that the loss got."""
    given = crash.layer_input
    if given.tensor is None or crash.is_without_batch:
        output = crash.tensor("input", "self")
        if output is not None:
            return sized(output)
    if not given.is_named and crash.event.operands:
        return sized(crash.event.operands[0])
    return given.sized


def _first_argument(whole: OperandTrial) -> str | None:
    """Return the first argument of the call of the model, for traces that do not record it."""
    written = whole.location.expression if whole.location is not None else None
    call = expression_of(written or "")
    return text_of(call.args[0]) if isinstance(call, Call) and call.args else None
