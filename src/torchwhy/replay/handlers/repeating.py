"""The handler while the user's loop repeats a failing step: nothing is recorded but that step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from torchwhy.observe.steps.check import Check
from torchwhy.replay.nonfinite.spoiled_values import SpoiledValues
from torchwhy.replay.observing.observed_step import ObservedStep
from torchwhy.replay.step.rewind import Rewind

if TYPE_CHECKING:
    from torchwhy.replay.handlers.watching import Watching


class Repeating:
    """Current until the repetition is over, when `watching` takes over."""

    quiet = None

    def __init__(
        self,
        watching: Watching,
        rewind: Rewind,
        step: ObservedStep,
        spoiled_values: SpoiledValues,
    ) -> None:
        self._watching = watching
        self._rewind = rewind
        self._step = step
        self._spoiled_values = spoiled_values

    def optimizer_made(self) -> None:
        """Note an optimizer that the repeated step makes."""
        self._watching.optimizer_made()

    def iteration_lost(self) -> None:
        """Watch for an exception that the program catches."""
        self._watching.iteration_lost()

    def before_backward(self, losses: list[torch.Tensor], *, accumulates: bool = True) -> None:  # noqa: ARG002
        """Note the births of bad losses."""
        self._step.begin_backward()
        self._spoiled_values.note_losses(losses)

    def before_step(self, check: Check) -> None:
        """Compare the repeated step with the failing one."""
        self._watching.observe_parameters(check)
        self._rewind.withheld_update.begin_step()
        self._rewind.repeated(check)

    def after_step(self, check: Check | None) -> None:
        """Prepare the next repetition."""
        self._step.end_update(check)
        self._rewind.withheld_update.after_step()
        self._rewind.after_withheld_step()
        self._step.resume()

    def bad_backward(self, check: Check) -> None:
        """Act on a bad loss that no optimizer step uses."""
        self._watching.bad_backward(check)

    def loss_was_read(self, loss: torch.Tensor) -> None:
        """Do nothing: the failing step is known."""

    def program_compiles(self) -> None:
        """Keep the microscope on for the repeated step."""
        self._watching.note_compiling()

    def program_died(self, error: BaseException) -> Callable[[], object] | None:
        """Return the look at an uncaught exception, for the time when the user has seen the traceback."""
        return self._watching.program_died(error)

    def at_exit(self) -> None:
        """Look at what the program leaves behind."""
        self._watching.at_exit()

    def leave(self) -> None:
        """Take everything off."""
        self._watching.leave()
