"""Stands for the keeper of failing steps until a step fails: a healthy run does not import it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from torchwhy.observe.probes.batches import Batch
from torchwhy.observe.steps.check import Check

if TYPE_CHECKING:
    from torchwhy.replay.keeping.failure_keeper import FailureKeeper


class LateKeeper:
    """Makes the keeper at the first call; a failure of it is noted, and the replay goes on."""

    def __init__(self, make: Callable[[], FailureKeeper], protect: Callable[..., Any]) -> None:
        self._make = make
        self._protect = protect

    @cached_property
    def _keeper(self) -> FailureKeeper:
        return self._make()

    def note(self, check: Check, batches: list[Batch]) -> None:
        """Find the state before the update of a bad step is made."""
        self._protect("kept state", lambda: self._keeper.note(check, batches))()

    def write(self, check: Check) -> None:
        """Write what was noted."""
        self._protect("kept state", lambda: self._keeper.write(check))()

    def skipped(self, check: Check, batches: list[Batch]) -> None:
        """Record the rows of an update that is left out."""
        self._protect("skipped rows", lambda: self._keeper.skipped(check, batches))()
