"""Notes which births spoiled a loss, a gradient, a weight, a model's output or a gradient norm."""

from __future__ import annotations

from typing import Any

import torch

from torchwhy.observe.program.frames import span_of
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps import gradients
from torchwhy.observe.steps.check import Check
from torchwhy.observe.steps.loss_scale import LossScale
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.record.events import GradientsClipped
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.nonfinite.nonfinite_log import NonfiniteLog
from torchwhy.replay.untrained.taken_value import Taken

NORMS = {"_foreach_norm", "linalg_vector_norm", "norm"}


class SpoiledValues:
    """Looks up where bad values come from, as far as the microscope saw it."""

    def __init__(
        self,
        microscope: Microscope,
        nonfinite_log: NonfiniteLog,
        recorder: Recorder,
        scale: LossScale,
    ) -> None:
        self._microscope = microscope
        self._nonfinite_log = nonfinite_log
        self._recorder = recorder
        self._scale = scale
        self._last_clip = -1

    def note_losses(self, losses: list[torch.Tensor]) -> None:
        """Note which births bad losses descend from."""
        for loss in losses if self._microscope.is_on else []:
            if not gradients.is_finite(loss):
                self._note(loss.detach(), "loss")

    def note_gradients(self, check: Check) -> None:
        """Note which births bad gradients descend from."""
        if not self._microscope.is_on or check.watched is None:
            return
        for name, gradient in check.watched.named_gradients():
            if gradient is None or gradients.is_finite(gradient):
                continue
            if not self._came_unseen(check, gradient):
                self._note(gradient, f"gradient of {name}")

    def note_parameters(self, check: Check) -> None:
        """Note which births bad weights descend from."""
        microscope = self._microscope
        if not microscope.is_on or check.watched is None or microscope.missed_update:
            return
        for name, parameter in zip(check.watched.names(), check.watched.parameters(), strict=True):
            if not gradients.is_finite(parameter):
                self._note(parameter.detach(), f"parameter {name}")

    @unseen
    def note_output(self, path: str, output: Any) -> None:
        """Note the births of bad values that a model returned; they count only if nothing is trained."""
        for tensor in output if isinstance(output, (list, tuple)) else [output]:
            if isinstance(tensor, torch.Tensor) and not gradients.is_finite(tensor):
                births = self._microscope.memory_writers.births_of(tensor)
                taken = Taken(f"output of {path}", is_output=True)
                self._nonfinite_log.noticed(births, taken)

    def note_clip(self, operation: Operation) -> None:
        """Record that gradients are clipped; a norm that overflows makes all of them 0, which no check sees."""
        if operation.births and operation.info.base in NORMS:
            self._nonfinite_log.tell_now(operation.births, "norm of the gradients")
        if self._last_clip == operation.step:
            return
        self._last_clip = operation.step
        site = operation.place()
        self._recorder.write(
            GradientsClipped(
                step=operation.step,
                scaled=self._scale.gradients_scaled,
                location=span_of(site) if site else None,
            )
        )

    def _note(self, tensor: torch.Tensor, what: str) -> None:
        self._nonfinite_log.reached(self._microscope.source_of(tensor), what)

    def _came_unseen(self, check: Check, gradient: torch.Tensor) -> bool:
        """Tell whether a backward pass in another thread made a gradient, so that none of it was seen."""
        return (
            bool(check.losses)
            and self._microscope.memory_writers.entry(gradient) is None
            and not any(one.phase == "backward" for one in self._microscope.operations())
        )


def bad_parameters(check: Check) -> list[str]:
    """Return the names of an optimizer's weights that are not finite."""
    if check.watched is None:
        return []
    pairs = zip(check.watched.names(), check.watched.parameters(), strict=True)
    return [name for name, parameter in pairs if not gradients.is_finite(parameter)]
