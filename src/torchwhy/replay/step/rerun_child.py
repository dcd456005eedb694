"""In a rerun: come up to the failing step, look at it through the microscope, and end the process there."""

from __future__ import annotations

import os

import torch

from torchwhy.observe.steps import gradients
from torchwhy.observe.steps.sentinel import Check
from torchwhy.record.events import Replayed
from torchwhy.replay.equipment import Stage
from torchwhy.replay.nonfinite import refused_values
from torchwhy.replay.nonfinite.data_code import look_into_data_code
from torchwhy.replay.nonfinite.evaluation_losses import value_of
from torchwhy.replay.step.earlier_run import EarlierRun

STEPS_AROUND = (
    300  # under the microscope, a few seconds for small programs; the time limit bounds large ones
)


class RerunChild:
    """Only in a rerun; its process ends as soon as it has seen what it came for."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._earlier = EarlierRun(stage.session)
        self._steps_around: int | None = None
        stage.evaluations.when_bad = self.evaluation_was_bad

    def is_close(self, next_step: int) -> bool:
        """Tell whether the step about to begin is the failing one or later."""
        return self._earlier.is_close(next_step + self._slack())

    def come_closer(self, next_step: int) -> None:
        """Put the microscope on one step before the one that failed; give up when it passed without failing."""
        if self.is_close(next_step):
            # What is left of the step in hand is its update; if it was seen before, its number is known.
            is_new = not self._stage.microscope.is_on
            self._stage.look_without_limit(next_step - 1 if is_new else None)
            if next_step > self._earlier.step + 1 + self._slack():
                self.end(None)

    def _slack(self) -> int:
        """Return how many steps before and after the failing one are worth a look, too: none in a true repetition.

        A program that draws other numbers each time it is started fails at another step, from the same cause.
        """
        if self._steps_around is None:
            repeated = self._earlier.is_repeated()
            if repeated is None:
                return 0
            self._steps_around = 0 if repeated else STEPS_AROUND
        return self._steps_around

    def loss_was_read(self, loss: torch.Tensor) -> None:
        """When the program itself gave up on a loss, the moment it reads that loss is the failure."""
        sentinel = self._stage.session.sentinel
        if not self._earlier.alarm_is("value") or not self._stage.microscope.is_on:
            return
        if sentinel.step >= self._earlier.step and not gradients.is_finite(loss):
            self._loss_is_bad(loss)

    def _loss_is_bad(self, loss: torch.Tensor) -> None:
        self._stage.note_bad_losses([loss])
        step, value = self._stage.session.sentinel.step, value_of(loss)
        self.end(Check(step, None, [value], bad_loss=True))

    def evaluation_was_bad(self, loss: torch.Tensor) -> None:
        """When a loss was bad only in evaluation, the moment it is read there is the failure."""
        if self._earlier.alarm_is("evaluation") and self._stage.microscope.is_on:
            self._loss_is_bad(loss)

    def values_were_refused(self, values: list[torch.Tensor]) -> None:
        """When an exception about bad values ended the program, it is the failure."""
        if self._earlier.alarm_is("value") and self._stage.microscope.is_on:
            self.end(refused_values.note(self._stage, values))

    def end(self, check: Check | None) -> None:
        """Write what the rerun saw and end it at once: its results are nobody's."""
        session = self._stage.session
        if check is not None:
            session.sentinel.alarm(check, withheld=False)
        look_into_data_code(self._stage)
        self._stage.nonfinite_log.write_all()
        session.write(
            Replayed(
                step=self._earlier.step,
                how="rerun",
                reproduced=check is not None,
                detail=self._earlier.faithfulness(),
                eager_of_compiled=self._stage.compiles,
            )
        )
        os._exit(0)
