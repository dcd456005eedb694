"""An exception from all sides: the autopsy of its traceback, then the inquest into what the traceback does not show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import torch
from torch.utils._python_dispatch import _disable_current_modes

from torchwhy.record.crashes import Crash
from torchwhy.replay.autopsy.examine import examine
from torchwhy.replay.autopsy.spots import Spot
from torchwhy.replay.inquest import worker
from torchwhy.replay.inquest.inquire import inquire

if TYPE_CHECKING:
    from torchwhy.replay.stage import Stage


def post_mortem(
    stage: Stage, error: BaseException, spots: list[Spot], *, caught: bool = False
) -> Crash:
    """Return the `Crash` of an exception; one that a loader's worker sent is told as it was in the worker."""
    crash = examine(stage, error, spots, caught=caught)
    text = str(error)[:]  # a slice: the message of a worker's KeyError is of a class of its own
    sent = worker.read(text)
    with _disable_current_modes(), torch.no_grad():
        clues = inquire(stage, text, spots, caught=caught, from_worker=sent is not None)
    crash = msgspec.structs.replace(
        crash, facts={**crash.facts, **clues.facts}, places={**crash.places, **clues.places}
    )
    if sent is None:
        return crash
    return msgspec.structs.replace(
        crash,
        type=sent.type,
        message=sent.message,
        location=sent.location or crash.location,
        worker=sent.traceback,
    )
