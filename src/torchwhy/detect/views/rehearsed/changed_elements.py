"""The experiments of the check-up that change a part of the inputs: the next element, or the padding."""

from __future__ import annotations

from torchwhy.finding import SourceSpan
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import Experiment
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

FUTURE = "future-unseen"
PADDING = "padding-ignored"
MASKED_BEFORE = "padding masked before"


@dataclass(frozen=True)
class FutureSeen:
    """Changing the element at `position` moved the output that is to predict it by `before`, relative to its size.

    `after` is by how much the outputs from there on moved. `mixing` is the first operation that moved anything before
    that element, `mask` the one that masks its weights.
    """

    step: int
    position: int
    length: int
    before: float
    after: float
    operation: str
    mixing: SourceSpan | None
    mask: SourceSpan | None
    output: SourceSpan | None


def future_seen(trace: Trace) -> FutureSeen | None:
    """Return what changing the element to predict did; None if that was not tried."""
    for one in trace.of(Experiment):
        if one.question == FUTURE and "before" in one.answer:
            return FutureSeen(
                step=one.step,
                position=int(_number(one, "position")),
                length=int(_number(one, "length")),
                before=_number(one, "before"),
                after=_number(one, "after"),
                operation=str(one.answer.get("operation", "")),
                mixing=one.places.get("mixing"),
                mask=one.places.get("mask"),
                output=one.places.get("output"),
            )
    return None


@dataclass(frozen=True)
class OwnElement:
    """Changing the element at `position`, the target of the output there, moved that and later outputs this far."""

    step: int
    position: int
    length: int
    own: float
    later: float
    output: SourceSpan | None
    enters: SourceSpan | None


def own_element(trace: Trace) -> OwnElement | None:
    """Return what changing an element did that is its own target; None if no target is an input as it is."""
    for one in trace.of(Experiment):
        if one.question == FUTURE and "own" in one.answer:
            return OwnElement(
                step=one.step,
                position=int(_number(one, "position")),
                length=int(_number(one, "length")),
                own=_number(one, "own"),
                later=_number(one, "later"),
                output=one.places.get("output"),
                enters=one.places.get("enters"),
            )
    return None


def _number(experiment: Experiment, name: str) -> float:
    value = experiment.answer.get(name, 0.0)
    return decode(value) if isinstance(value, (int, float, str)) else 0.0


@dataclass(frozen=True)
class PaddingTried:
    """How far the outputs for real elements moved when the padding or the sequences were changed.

    `turned` is the same with the mask the other way round, `masked_before` with the mask before the softmax whose
    weights it multiplies, if it does. All are relative to the size of the outputs.
    """

    step: int
    padding: float
    sequences: float
    padding_turned: float
    sequences_turned: float
    padded: int
    elements: int
    operation: str
    mask: SourceSpan | None
    masked_before: float | None = None


def padding_tried(trace: Trace) -> PaddingTried | None:
    """Return what changing the padding did; None if that was not tried."""
    for one in trace.of(Experiment):
        if one.question == PADDING and "padding" in one.answer:
            return PaddingTried(
                step=one.step,
                padding=_number(one, "padding"),
                sequences=_number(one, "sequences"),
                padding_turned=_number(one, "padding turned"),
                sequences_turned=_number(one, "sequences turned"),
                padded=int(_number(one, "padded")),
                elements=int(_number(one, "elements")),
                operation=str(one.answer.get("operation", "")),
                mask=one.places.get("mask"),
                masked_before=_number(one, MASKED_BEFORE) if MASKED_BEFORE in one.answer else None,
            )
    return None
