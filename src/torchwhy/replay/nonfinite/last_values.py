"""Looks at what an ending program leaves behind: a bad loss it stopped at, bad weights, bad values without training."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path

import msgspec
import torch

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizers
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps import gradients
from torchwhy.observe.steps.compiled_steps import CompiledSteps
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.tensor_parts import local_part
from torchwhy.record.events import Alarm, Replayed
from torchwhy.record.numbers import encode
from torchwhy.record.run_file import COMPUTED
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.nonfinite.evaluation_losses import WatchedEvaluations
from torchwhy.replay.nonfinite.nonfinite_log import NonfiniteLog
from torchwhy.replay.nonfinite.spoiled_values import SpoiledValues

MOST_NAMES = 8  # bad weights that an alarm names


class LastValues:
    """Raises the alarm that no step could raise, if the program ends without one."""

    def __init__(
        self,
        microscope: Microscope,
        nonfinite_log: NonfiniteLog,
        spoiled_values: SpoiledValues,
        *,
        evaluations: WatchedEvaluations,
        optimizers: WatchedOptimizers,
        compiled_steps: CompiledSteps,
        recorder: Recorder,
        state: TrainingState,
        directory: Path,
    ) -> None:
        self._directory = directory
        self._compiled_steps = compiled_steps
        self._microscope = microscope
        self._nonfinite_log = nonfinite_log
        self._spoiled_values = spoiled_values
        self._evaluations = evaluations
        self._optimizers = optimizers
        self._recorder = recorder
        self._state = state

    def look(self) -> None:
        """Judge the last loss that was read, the last weights, the evaluations, or all values without training."""
        state, write = self._state, self._recorder.write
        last = state.last_read
        if (
            last is not None
            and not gradients.is_finite(last)
            and not state.dropped.one_more_is_usual
        ):
            self._stopped_at(last)
        elif state.bad_scaled_losses > 1:
            losses = state.last_scaled_losses
            write(Alarm(step=state.step, optimizer=None, what="loss", losses=losses))
        elif self._found_bad_weights():
            return
        elif (evaluation := self._evaluations.alarm()) is not None:
            write(evaluation)
        elif not state.backwards and self._microscope.is_on:
            self._write_computed()
            self._microscope.leave()
            self._nonfinite_log.blame_noticed(self._microscope.memory_writers.living_births())
            self._values_without_training()

    def _write_computed(self) -> None:
        """Note how many operations were seen, and whether there were more; no event, which would begin a trace."""
        seen = self._microscope.seen
        if seen and self._is_untrained:
            extent = "first" if self._microscope.is_asleep else "all"
            with suppress(OSError):
                (self._directory / COMPUTED).write_text(f"{extent} {seen}\n", encoding="utf8")

    def _stopped_at(self, loss: torch.Tensor) -> None:
        """Raise the alarm about a bad loss that the program read before it ended."""
        step = self._state.step
        value = encode(float(local_part(loss).item()))
        self._recorder.write(
            Alarm(
                step=step,
                optimizer=None,
                what="value",
                losses=[value],
                untrained=self._is_untrained,
            )
        )
        if self._microscope.is_on:
            self._spoiled_values.note_losses([loss])
            self._nonfinite_log.write_all()
            self._write_replayed(step, reproduced=self._nonfinite_log.any_reached())

    def _found_bad_weights(self) -> bool:
        """Raise the alarm about weights that the last step wrote, after which no step judges them."""
        for watched in self._optimizers.all():
            pairs = zip(watched.names(), watched.parameters(), strict=True)
            bad = [name for name, parameter in pairs if not gradients.is_finite(parameter)]
            if bad and watched.steps:
                self._recorder.write(
                    Alarm(
                        step=max(self._state.step - 1, 0),
                        optimizer=watched.index,
                        what="parameter",
                        losses=[],
                        names=bad[:MOST_NAMES],
                        since=self._compiled_steps.checked_at(watched),
                        compiled=self._compiled_steps.checked_at(watched) is not None,
                    )
                )
                return True
        return False

    def _values_without_training(self) -> None:
        log = self._nonfinite_log
        if log.any_reached():
            has_nan = any(one.output is not None and one.output.nan for one in log.spoilers())
            losses = [encode(math.nan if has_nan else math.inf)]
            alarm = Alarm(step=0, optimizer=None, what="value", losses=losses)
            self._recorder.write(msgspec.structs.replace(alarm, untrained=self._is_untrained))
            self._nonfinite_log.write_all()
            self._write_replayed(0, reproduced=True)

    @property
    def _is_untrained(self) -> bool:
        """Tell whether the program has not begun to train."""
        return not self._state.backwards and not self._state.step and not self._optimizers.any_made

    def _write_replayed(self, step: int, *, reproduced: bool) -> None:
        self._recorder.write(Replayed(step=step, how="first-step", reproduced=reproduced))
