"""An exception from all sides: the autopsy of its traceback, then the inquest into what the traceback does not show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import torch

from torchwhy.observe.torch_features.mode_stack import modes_off
from torchwhy.record.crashes import Crash
from torchwhy.replay.crash.autopsy.examine import examine
from torchwhy.replay.crash.frames.traceback_frames import Spot, spots_of
from torchwhy.replay.crash.hidden import fetching, worker_traceback
from torchwhy.replay.crash.hidden.clues import Clues
from torchwhy.replay.crash.hidden.inquire import inquire

if TYPE_CHECKING:
    from torchwhy.replay.equipment import Stage


def post_mortem(
    stage: Stage, error: BaseException, spots: list[Spot], *, caught: bool = False
) -> Crash:
    """Return the `Crash` of an exception; one that a loader's worker sent is told as it was in the worker."""
    text = str(error)[:]  # a slice: the message of a worker's KeyError is of a class of its own
    sent = worker_traceback.read(text)
    if sent is not None:
        return _of_worker(stage, error, spots, sent, caught=caught)
    crash = examine(stage, error, spots, caught=caught)
    clues = _inquest(stage, text, spots)
    facts = {**crash.facts, **clues.facts, "data_code": is_in_data_code(spots)}
    return msgspec.structs.replace(crash, facts=facts, places={**crash.places, **clues.places})


def _of_worker(
    stage: Stage,
    error: BaseException,
    spots: list[Spot],
    sent: worker_traceback.WorkerError,
    *,
    caught: bool,
) -> Crash:
    """Make the failing batch once more in this process, where its frames can be looked into."""
    with modes_off():
        again = None if caught else fetching.make_again(stage.session, spots)
    live = spots
    if again is not None and again.error is not None and type(again.error).__name__ == sent.type:
        error, live = again.error, spots_of(again.error.__traceback__)
    crash = examine(stage, error, live, caught=caught)
    clues = _inquest(stage, sent.message, spots, again)
    data_code = sent.location is not None
    return msgspec.structs.replace(
        crash,
        type=sent.type,
        message=sent.message,
        location=(crash.location if live is not spots and data_code else sent.location)
        or crash.location,
        worker=sent.traceback,
        facts={**crash.facts, **clues.facts, "data_code": data_code},
        places={**crash.places, **clues.places},
    )


def _inquest(
    stage: Stage, message: str, spots: list[Spot], again: fetching.Again | None = None
) -> Clues:
    """Return what the inquest found; if it fails, the autopsy alone has to do."""
    with modes_off(), torch.no_grad():
        return (
            stage.session.guests.protect("inquest", inquire)(stage, message, spots, again)
            or Clues()
        )


def is_in_data_code(spots: list[Spot]) -> bool:
    """Tell whether it was code of the user's, called by a loader, that failed: a dataset or a collate function."""
    fetched = False
    for spot in spots:
        fetched = fetched or spot.frame.f_code.co_filename.endswith("fetch.py")
        if fetched and spot.layer == "user":
            return True
    return False
