"""A call that refused its values right after an update that replaced the weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torchwhy.detect.rules.message_kinds import ConstraintViolated
from torchwhy.detect.views.crash.crash_view import CrashView, crashes
from torchwhy.detect.views.training.history import times
from torchwhy.detect.views.training.overshoot import decisive_update
from torchwhy.detect.views.training.training import Training, trainings
from torchwhy.diagnosis import Diagnosis
from torchwhy.record.trace import Trace

LONG = 5.0  # An update this many times as large as the weights leaves nothing of them.
SOON = 5  # Values that such an update spoiled are refused within this many steps.


class ValuesRefused(Diagnosis):
    """An update replaced the weights, and a call refused what the network then gave."""

    updated_at: int
    size: float
    expression: str
    parameter: str
    constraint: str
    message = (
        "replaced the weights (that of step {updated_at} is {times} as large as they are), and `{expression}` refuses "
        "the `{parameter}` that they lead to ({constraint})"
    )

    @property
    def times(self) -> str:
        """Return the size of the update as a factor."""
        return times(self.size)


class Refusal(NamedTuple):
    """The training whose update did it, the harm, and the exception."""

    training: Training
    harm: ValuesRefused
    crash: CrashView


def refusals(trace: Trace) -> Iterator[Refusal]:
    """Yield the exceptions about values that came right after an update many times as large as the weights."""
    for crash in crashes(trace):
        said, at = crash.said, crash.event.step
        if not isinstance(said, ConstraintViolated):
            continue
        for training in trainings(trace):
            step, size = decisive_update(training, at)
            if training.rate and size >= LONG and 0 < at - step <= SOON:
                harm = ValuesRefused(
                    updated_at=step,
                    size=size,
                    expression=crash.expression,
                    parameter=said.parameter,
                    constraint=said.constraint,
                )
                yield Refusal(training, harm, crash)
                break
