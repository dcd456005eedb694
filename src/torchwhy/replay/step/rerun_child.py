"""In a rerun: comes up to the failing step, looks at it under the microscope, and ends the process there."""

from __future__ import annotations

import os

import torch

from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps import gradients
from torchwhy.observe.steps.check import Check, alarm_of
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.record.events import Replayed
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.nonfinite.data_code import DataCode
from torchwhy.replay.nonfinite.evaluation_losses import value_of
from torchwhy.replay.nonfinite.nonfinite_log import NonfiniteLog
from torchwhy.replay.nonfinite.refused_values import RefusedValues
from torchwhy.replay.nonfinite.spoiled_values import SpoiledValues
from torchwhy.replay.observing.switch import MicroscopeSwitch
from torchwhy.replay.step.earlier_run import EarlierRun
from torchwhy.replay.step.step_inputs import StepInputs, shown

STEPS_AROUND = (
    300  # under the microscope: seconds for small programs, and the time limit bounds large ones
)


class RerunChild:
    """Ends the process as soon as it has seen the failure."""

    def __init__(
        self,
        earlier: EarlierRun,
        microscope: Microscope,
        switch: MicroscopeSwitch,
        *,
        nonfinite_log: NonfiniteLog,
        spoiled_values: SpoiledValues,
        refused_values: RefusedValues,
        data_code: DataCode,
        recorder: Recorder,
        state: TrainingState,
    ) -> None:
        self._earlier = earlier
        self._microscope = microscope
        self._switch = switch
        self._nonfinite_log = nonfinite_log
        self._spoiled_values = spoiled_values
        self._refused_values = refused_values
        self._data_code = data_code
        self._recorder = recorder
        self._state = state
        self._steps_around: int | None = None
        self._moved: list[str] = []  # variables that differ from the failing step's

    def is_close(self, next_step: int) -> bool:
        """Tell whether the step about to begin is the failing one or later."""
        return self._earlier.is_close(next_step + self._slack())

    def come_closer(self, next_step: int) -> None:
        """Put the microscope on one step before the one that failed; give up after it passed without failing."""
        if self.is_close(next_step):
            # The rest of the current step is its update; if the microscope is on already, it knows the step.
            is_new = not self._microscope.is_on
            self._switch.put_on_without_limit(next_step - 1 if is_new else None)
            if next_step > self._earlier.step + 1 + self._slack():
                self.end(None)

    def passed(self, check: Check) -> None:
        """Compare what went into the step that failed in the run, if it is finite here."""
        if check.step == self._earlier.step:
            self._moved = self._earlier.moved(StepInputs().digests())

    def _slack(self) -> int:
        """Return how many steps before and after the failing one to look at; none in an exact repetition.

        A program that draws other numbers in each run fails at another step, from the same cause.
        """
        if self._steps_around is None:
            repeated = self._earlier.is_repeated()
            if repeated is None:
                return 0
            self._steps_around = 0 if repeated else STEPS_AROUND
        return self._steps_around

    def loss_was_read(self, loss: torch.Tensor) -> None:
        """Take the read of a bad loss as the failure, if the program itself stopped at it."""
        if not self._earlier.alarm_is("value") or not self._microscope.is_on:
            return
        if self._state.step >= self._earlier.step and not gradients.is_finite(loss):
            self._loss_is_bad(loss)

    def _loss_is_bad(self, loss: torch.Tensor) -> None:
        self._spoiled_values.note_losses([loss])
        self.end(Check(self._state.step, None, [value_of(loss)], bad_loss=True))

    def evaluation_was_bad(self, loss: torch.Tensor) -> None:
        """Take the read of a bad loss as the failure, if the loss was bad only in evaluation."""
        if self._earlier.alarm_is("evaluation") and self._microscope.is_on:
            self._loss_is_bad(loss)

    def values_were_refused(self, values: list[torch.Tensor]) -> None:
        """Take an exception about bad values as the failure, if one ended the program."""
        if self._earlier.alarm_is("value") and self._microscope.is_on:
            self.end(self._refused_values.note(values))

    def end(self, check: Check | None) -> None:
        """Write what the rerun saw and end it at once, because nothing uses its results."""
        if check is not None:
            self._recorder.write(alarm_of(check, withheld=False))
        self._data_code.look()
        self._nonfinite_log.write_all()
        eager = self._switch.compiles or self._earlier.failed_in_compiled_code
        repeated = self._earlier.is_repeated()
        self._recorder.write(
            Replayed(
                step=self._earlier.step,
                how="rerun",
                reproduced=check is not None,
                detail=self._earlier.faithfulness(),
                eager_of_compiled=eager,
                faithful=repeated is not False if eager else bool(repeated),
                moved=sorted({shown(name) for name in self._moved}),
            )
        )
        os._exit(0)
