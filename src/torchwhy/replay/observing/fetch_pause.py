"""Pauses the microscope while torch alone fetches samples: hundreds of operations that explain nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchwhy.observe.probes.batches import BatchKeeper
from torchwhy.replay.microscope.dispatch_mode import Microscope


class FetchPause:
    """On for the first observation and those of late optimizers; off in a rerun or trial, which misses nothing."""

    def __init__(
        self,
        microscope: Microscope,
        batches: BatchKeeper,
        protect: Callable[..., Any],
        *,
        is_allowed: bool,
    ) -> None:
        self._microscope = microscope
        self._batches = batches
        self._is_allowed = is_allowed
        self._pause = protect("microscope", microscope.pause)
        self._resume = protect("microscope", microscope.resume)

    def begin(self) -> None:
        """Pause around fetching from now on, and log operations of torch's own work only briefly."""
        self._microscope.logs_briefly = self._is_allowed
        if self._is_allowed:
            self._batches.on_fetch, self._batches.on_fetched = self._pause, self._resume

    def end(self) -> None:
        """Pause no more."""
        self._batches.on_fetch = self._batches.on_fetched = None
