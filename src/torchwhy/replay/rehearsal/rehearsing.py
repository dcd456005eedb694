"""The handler of a rehearsal: watches like that of an ordinary run, and captures steps."""

from __future__ import annotations

from typing import Any

import torch

from torchwhy.observe.steps.check import Check
from torchwhy.replay.handlers.watching import Watching
from torchwhy.replay.rehearsal.rehearsal import Rehearsal


class Rehearsing(Watching):
    """Hands backward passes and updates on to the rehearsal; the loop does not cruise."""

    def rehearse(self, rehearsal: Rehearsal, protect: Any) -> None:
        """Begin; called once, before the program runs."""
        self.quiet = None
        self._rehearsal = rehearsal
        self._capture = protect("rehearsal", rehearsal.before_backward)
        self._before_update = protect("rehearsal", rehearsal.before_update)
        self._after_update = protect("rehearsal", rehearsal.after_update)

    def before_backward(self, losses: list[torch.Tensor], *, accumulates: bool = True) -> None:
        """Capture the step, and watch."""
        if accumulates or not self._rehearsal.has_optimizers:
            self._capture(losses)
        super().before_backward(losses, accumulates=accumulates)

    def before_step(self, check: Check) -> None:
        """Note the gradients, and watch."""
        self._before_update()
        super().before_step(check)

    def after_step(self, check: Check | None) -> None:
        """Note the update, and watch."""
        self._after_update(check)
        super().after_step(check)

    def at_exit(self) -> None:
        """Stop capturing, and look at what the program leaves behind."""
        self._rehearsal.leave()
        super().at_exit()

    def leave(self) -> None:
        """Take everything off."""
        self._rehearsal.leave()
        super().leave()
