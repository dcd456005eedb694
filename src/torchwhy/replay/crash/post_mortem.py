"""An exception from all sides: the autopsy of its traceback, then the inquest into what the traceback does not show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import torch

from torchwhy.observe.torch_features.mode_stack import modes_off
from torchwhy.record.crashes import Crash
from torchwhy.replay.crash.autopsy.examine import examine
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame, frames_of
from torchwhy.replay.crash.hidden import fetching, worker_traceback
from torchwhy.replay.crash.hidden.find_hidden_facts import find_hidden_facts
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts

if TYPE_CHECKING:
    from torchwhy.replay.equipment import Stage


def post_mortem(
    stage: Stage, error: BaseException, frames: list[TracebackFrame], *, caught: bool = False
) -> Crash:
    """Return the `Crash` of an exception; one that a loader's worker sent is told as it was in the worker."""
    text = str(error)[:]  # a slice: the message of a worker's KeyError is of a class of its own
    sent = worker_traceback.read(text)
    if sent is not None:
        return _of_worker(stage, error, frames, sent, caught=caught)
    crash = examine(stage, error, frames, caught=caught)
    hidden = _inquest(stage, text, frames)
    facts = {**crash.facts, **hidden.facts, "data_code": is_in_data_code(frames)}
    return msgspec.structs.replace(crash, facts=facts, places={**crash.places, **hidden.places})


def _of_worker(
    stage: Stage,
    error: BaseException,
    frames: list[TracebackFrame],
    sent: worker_traceback.WorkerError,
    *,
    caught: bool,
) -> Crash:
    """Make the failing batch once more in this process, where its frames can be looked into."""
    with modes_off():
        refetched = None if caught else fetching.refetch(stage.session, frames)
    live = frames
    if (
        refetched is not None
        and refetched.error is not None
        and type(refetched.error).__name__ == sent.type
    ):
        error, live = refetched.error, frames_of(refetched.error.__traceback__)
    crash = examine(stage, error, live, caught=caught)
    hidden = _inquest(stage, sent.message, frames, refetched)
    data_code = sent.location is not None
    return msgspec.structs.replace(
        crash,
        type=sent.type,
        message=sent.message,
        location=(crash.location if live is not frames and data_code else sent.location)
        or crash.location,
        worker=sent.traceback,
        facts={**crash.facts, **hidden.facts, "data_code": data_code},
        places={**crash.places, **hidden.places},
    )


def _inquest(
    stage: Stage,
    message: str,
    frames: list[TracebackFrame],
    refetched: fetching.RefetchedBatch | None = None,
) -> HiddenFacts:
    """Return what the inquest found; if it fails, the autopsy alone has to do."""
    with modes_off(), torch.no_grad():
        return (
            stage.session.guests.protect("inquest", find_hidden_facts)(
                stage, message, frames, refetched
            )
            or HiddenFacts()
        )


def is_in_data_code(frames: list[TracebackFrame]) -> bool:
    """Tell whether it was code of the user's, called by a loader, that failed: a dataset or a collate function."""
    fetched = False
    for frame in frames:
        fetched = fetched or frame.filename.endswith("fetch.py")
        if fetched and frame.layer == "user":
            return True
    return False
