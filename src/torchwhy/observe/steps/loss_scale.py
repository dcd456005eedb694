"""The GradScaler of the program: what it multiplies losses by, and whether it has checked the gradients."""

from __future__ import annotations

from typing import Any

from torchwhy.observe.program.frames import calling_span
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.record.events import ScaleChanged
from torchwhy.record.numbers import encode


class LossScale:
    """Follows the scale; without a scaler it is 1."""

    def __init__(self, recorder: Recorder, state: TrainingState) -> None:
        self._recorder = recorder
        self._state = state
        self.scaler: Any = None
        self.gradients_scaled = False
        self.scaler_answers = False  # the scaler found the gradients of this step finite
        self._scale = 0.0

    def current(self) -> float:
        """Return what losses are multiplied by now."""
        return 1.0 if self.scaler is None else self.scale_is(float(self.scaler.get_scale()))

    def scale_is(self, scale: float) -> float:
        """Record a new scale; return what to divide losses by."""
        if scale != self._scale:
            self._scale = scale
            self._recorder.write(
                ScaleChanged(step=self._state.step, scale=encode(scale), location=calling_span())
            )
        return scale or 1.0

    @unseen
    def note(self) -> None:
        """Follow the scale also if the scaler skips every step, so that no optimizer is seen."""
        self.current()

    def answers_for(self, optimizer: Any) -> bool:
        """Tell whether the scaler makes sure that this step uses finite gradients or none.

        A fused optimizer gets `found_inf` from the scaler and skips by itself.
        """
        return self.scaler_answers or getattr(optimizer, "found_inf", None) is not None
