"""Finds the bad values that an exception about NaN or inf means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch

from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps import gradients
from torchwhy.observe.steps.check import Check
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.record.events import REFUSED, Alarm, Replayed
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame, below, blamed
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.nonfinite.nonfinite_log import NonfiniteLog

# NaN is in no range: torch refuses it with the words for one, and then does not name it.
COMPLAINT = re.compile(
    r"\bnan\b|\binf\b|infinit|non-?finite|not finite|invalid values|positive.definite|failed to converge"
    r"|between 0 and 1|>= ?0|non-?negative",
    re.IGNORECASE,
)


def values_refused_by(error: BaseException, frames: list[TracebackFrame]) -> list[torch.Tensor]:
    """Return the bad tensors in the user's innermost frame and those it called, if the exception means them."""
    user = blamed(frames)
    if user is None or not COMPLAINT.search(str(error)):
        return []
    found = {
        id(tensor): tensor
        for frame in (user, *below(frames, user))
        for tensor in _tensors(frame.variables.values())
    }
    bad = [tensor for tensor in found.values() if not gradients.is_finite(tensor)]
    return [tensor for tensor in bad if bool(torch.isnan(tensor.detach()).any())] or bad


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    for value in list(values):
        if isinstance(value, torch.Tensor) and gradients.dense(value) is not None and value.numel():
            yield value


class RefusedValues:
    """Connects values that an exception refused with their births."""

    def __init__(
        self,
        microscope: Microscope,
        nonfinite_log: NonfiniteLog,
        recorder: Recorder,
        state: TrainingState,
    ) -> None:
        self._microscope = microscope
        self._nonfinite_log = nonfinite_log
        self._recorder = recorder
        self._state = state

    def raise_alarm(self, values: list[torch.Tensor]) -> None:
        """Record that these values ended the program; their births are known if the microscope was on."""
        step, log = self._state.step, self._nonfinite_log
        self._recorder.write(Alarm(step=step, optimizer=None, what="value", losses=[]))
        if self._microscope.is_on:
            self.note(values)
            log.write_all()
            self._recorder.write(
                Replayed(step=step, how="first-step", reproduced=log.any_reached())
            )

    def note(self, values: list[torch.Tensor]) -> Check:
        """Note which births the refused values descend from."""
        for tensor in values:
            self._nonfinite_log.reached(self._microscope.source_of(tensor.detach()), REFUSED)
        return Check(self._state.step, None, [], bad_loss=True)
