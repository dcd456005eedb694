"""The experiments of the check-up that change a part of the inputs: the next element, or the padding."""

from __future__ import annotations

from dataclasses import dataclass

from torchwhy.finding import SourceSpan
from torchwhy.record.learning import Experiment
from torchwhy.record.numbers import decode
from torchwhy.record.trace import Trace

FUTURE = "future-unseen"
PADDING = "padding-ignored"


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


def _number(experiment: Experiment, name: str) -> float:
    value = experiment.answer.get(name, 0.0)
    return decode(value) if isinstance(value, (int, float, str)) else 0.0
