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
        if self._looks and not self._triggers.is_observing:
            self._step.begin_backward()
            self._spoiled_values.note_losses(losses)
        else:
            super().before_backward(losses, accumulates=accumulates)

    def after_step(self, check: Check | None) -> None:
        """Look at the next step, too, unless an experiment has the microscope."""
        super().after_step(check)
        self._looks = self._may_observe and not self._observations.is_observing
        if self._looks:
            self._switch.put_on_without_limit(self._state.step + 1)
