"""The handler of a block that is watched closely: the microscope is on for every step."""

from __future__ import annotations

import torch

from torchwhy.observe.steps.check import Check
from torchwhy.replay.handlers.watching import Watching


class WatchingClosely(Watching):
    """Watches like an ordinary run, and has seen the step that fails; the loop does not cruise."""

    _looks = False  # for no other reason than that every step is looked at

    def watch_every_step(self) -> None:
        """Begin; called once, before the block runs."""
        self.quiet = None

    def before_backward(self, losses: list[torch.Tensor], *, accumulates: bool = True) -> None:
        """Record the graphs of the first steps only: those of all steps would fill the disk."""
        if not self._looks or self._triggers.is_measuring:
            super().before_backward(losses, accumulates=accumulates)
            return
        self._step.begin_backward()
        self._spoiled_values.note_losses(losses)
        if accumulates:
            self._trigger_before_backward(losses)

    def after_step(self, check: Check | None) -> None:
        """Look at the next step, too, unless the microscope is on for another reason."""
        super().after_step(check)
        is_observing = self._observations.is_observing or self._triggers.is_observing
        self._looks = self._rewind.is_idle and not is_observing
        if self._looks:
            self._switch.put_on_without_limit(self._state.step + 1)
