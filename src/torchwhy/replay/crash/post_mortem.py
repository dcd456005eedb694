"""Explains an exception from its traceback (autopsy), and from what the traceback does not show (hidden causes)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import torch

from torchwhy.observe.probes.batches import BatchKeeper
from torchwhy.observe.torch_features.mode_stack import modes_off
from torchwhy.record.crashes import Crash
from torchwhy.replay.crash.autopsy.examine import Autopsy
from torchwhy.replay.crash.frames.raisers import PYTHON_NAMES
from torchwhy.replay.crash.frames.traceback_frames import (
    TracebackFrame,
    blamed,
    frames_of,
    place_of,
)
from torchwhy.replay.crash.hidden import fetching, worker_traceback
from torchwhy.replay.crash.hidden.hidden_causes import HiddenCauses
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts


class PostMortem:
    """Makes the `Crash` event of an exception."""

    def __init__(
        self,
        autopsy: Autopsy,
        hidden_causes: HiddenCauses,
        batches: BatchKeeper,
        protect: Callable[..., Any],
    ) -> None:
        self._autopsy = autopsy
        self._batches = batches
        self._find = protect("inquest", hidden_causes.find)

    def of(
        self, error: BaseException, frames: list[TracebackFrame], *, caught: bool = False
    ) -> Crash:
        """Return the `Crash` of an exception; one from a loader's worker appears as it was in the worker."""
        text = str(error)[
            :
        ]  # a slice, because the message of a worker's KeyError has a class of its own
        sent = worker_traceback.read(text)
        if sent is not None:
            return self._of_worker(error, frames, sent, caught=caught)
        crash = self._autopsy.examine(error, frames, caught=caught)
        hidden = self._hidden_facts(text, frames)
        facts = {**crash.facts, **hidden.facts, "data_code": is_in_data_code(frames)}
        return msgspec.structs.replace(crash, facts=facts, places={**crash.places, **hidden.places})

    def _of_worker(
        self,
        error: BaseException,
        frames: list[TracebackFrame],
        sent: worker_traceback.WorkerError,
        *,
        caught: bool,
    ) -> Crash:
        """Make the failing batch again in this process, where its frames can be read."""
        with modes_off():
            refetched = None if caught else fetching.refetch(self._batches, frames)
        live, failed = frames, refetched.error if refetched is not None else None
        if failed is not None and type(failed).__name__ == sent.type:
            error, live = failed, frames_of(failed.__traceback__)
        crash = self._autopsy.examine(error, live, caught=caught)
        hidden = self._hidden_facts(sent.message, frames, refetched)
        data_code = sent.location is not None
        is_plain = data_code and sent.type in PYTHON_NAMES
        return msgspec.structs.replace(
            crash,
            type=sent.type,
            message=sent.message,
            location=(crash.location if live is not frames and data_code else sent.location)
            or crash.location
            or place_of(blamed(frames)),
            raised_by="python" if is_plain else crash.raised_by,
            worker=sent.traceback,
            facts={**crash.facts, **hidden.facts, "data_code": data_code},
            places={**crash.places, **hidden.places},
        )

    def _hidden_facts(
        self,
        message: str,
        frames: list[TracebackFrame],
        refetched: fetching.RefetchedBatch | None = None,
    ) -> HiddenFacts:
        """Return the hidden facts; none if the search fails, so that the autopsy is kept."""
        with modes_off(), torch.no_grad():
            return self._find(message, frames, refetched) or HiddenFacts()


def is_in_data_code(frames: list[TracebackFrame]) -> bool:
    """Tell whether code of the user's that a loader called has failed: a dataset or a collate function."""
    fetched = False
    for frame in frames:
        fetched = fetched or frame.filename.endswith("fetch.py")
        if fetched and frame.layer == "user":
            return True
    return False
