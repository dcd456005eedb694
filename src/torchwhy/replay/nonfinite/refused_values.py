"""An exception that complains of NaN or inf: which of the values in its frames it means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch

from torchwhy.observe.steps import gradients
from torchwhy.observe.steps.sentinel import Check
from torchwhy.record.events import REFUSED, Alarm, Replayed
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame, below, blamed
from torchwhy.replay.equipment import Stage

COMPLAINT = re.compile(
    r"\bnan\b|\binf\b|infinit|non-?finite|not finite|invalid values|positive.definite|failed to converge",
    re.IGNORECASE,
)


def refused_values(error: BaseException, frames: list[TracebackFrame]) -> list[torch.Tensor]:
    """Return the bad tensors in the user's innermost frame and those below; none unless the exception means them."""
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


def raise_alarm(stage: Stage, values: list[torch.Tensor]) -> None:
    """Tell of values that ended the program; where they came from is known if the microscope was on."""
    step = stage.session.sentinel.step
    stage.session.write(Alarm(step=step, optimizer=None, what="value", losses=[]))
    if stage.microscope.is_on:
        note(stage, values)
        stage.nonfinite_log.write_all()
        stage.session.write(
            Replayed(step=step, how="first-step", reproduced=stage.nonfinite_log.any_reached())
        )


def note(stage: Stage, values: list[torch.Tensor]) -> Check:
    """Note which births the refused values descend from."""
    for tensor in values:
        stage.nonfinite_log.reached(stage.microscope.source_of(tensor.detach()), REFUSED)
    return Check(stage.session.sentinel.step, None, [], bad_loss=True)
