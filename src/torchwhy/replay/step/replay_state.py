"""Keeps what a replay of the next step needs: a snapshot, and the batches since the last step."""

from __future__ import annotations

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer, WatchedOptimizers
from torchwhy.observe.probes.batches import BatchKeeper
from torchwhy.observe.step_handler import CopiedAfterStep
from torchwhy.replay.step.snapshot import Snapshot


class ReplayState:
    """Updated after every step that is not a repeated one."""

    def __init__(
        self, snapshot: Snapshot, batches: BatchKeeper, optimizers: WatchedOptimizers
    ) -> None:
        self._snapshot = snapshot
        self._batches = batches
        self._optimizers = optimizers

    def optimizer_made(self) -> None:
        """Look for buffers again; take a snapshot at once if a bad first step is to be left out."""
        self._snapshot.begin_anew()
        if self._snapshot.copies_all:
            self._snapshot.take()

    def after_step(self, watched: WatchedOptimizer | None) -> None:
        """Take a snapshot and release the batches that no optimizer needs any more."""
        self._snapshot.take()
        if watched is not None:
            watched.batches_at_last_step = self._batches.serial
        self.forget_old_batches()

    def forget_old_batches(self) -> None:
        """Release the batches up to the oldest last step of any optimizer."""
        oldest = 0
        for watched in self._optimizers.all():
            mark = watched.batches_at_last_step
            if mark and (not oldest or mark < oldest):
                oldest = mark
        if oldest:
            self._batches.forget_before(oldest)

    def copies_after_steps(self) -> tuple[bool, CopiedAfterStep]:
        """Tell whether anything is copied after each step; and what of it the accelerator can copy."""
        return self._snapshot.is_needed, self._snapshot.parts

    def after_quiet_step(self) -> None:
        """Take a snapshot after a step at cruising speed, which releases its batches itself."""
        self._snapshot.take()
