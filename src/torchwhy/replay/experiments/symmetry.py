"""Weights whose rows were equal at the start: did training make them differ?"""

from __future__ import annotations

import weakref

import torch

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import gradient_of
from torchwhy.record.learning import Experiment
from torchwhy.replay.microscope.measures import rows_equal

QUESTION = "do equal rows of a weight become different?"
TOGETHER = 1e-3  # distance between rows relative to how far they moved: rounding makes them differ a little
ROUNDING = 1e-4  # the same after the first update, relative to the weight's size
ASKED_AFTER = (
    10,
    50,
)  # updates: a zero-initialised output layer or branch differs after one or two


class Symmetry:
    """Remembers which weights began with equal rows, and compares these again after some updates."""

    def __init__(self, recorder: Recorder, state: TrainingState) -> None:
        self._recorder = recorder
        self._state = state
        self._equal: dict[int, list[tuple[str, weakref.ref[torch.Tensor], torch.Tensor]]] = {}

    def check(self, watched: WatchedOptimizer) -> None:
        """Compare after the first step and two later ones; called after each."""
        if watched.steps == 0:
            # The first update is done; rows that it made different are fine.
            self._equal[watched.index] = [
                (name, weakref.ref(parameter), parameter.detach()[:1].clone())
                for name, parameter in zip(watched.names(), watched.parameters(), strict=True)
                if parameter.requires_grad
                and gradient_of(parameter) is not None
                and rows_equal(parameter, ROUNDING)
            ]
        elif watched.steps in ASKED_AFTER and self._equal.get(watched.index):
            self._tell(watched)

    def _tell(self, watched: WatchedOptimizer) -> None:
        equal = [
            name
            for name, reference, row in self._equal[watched.index]
            if (parameter := reference()) is not None and _moved_together(parameter.detach(), row)
        ]
        self._recorder.write(
            Experiment(
                step=self._state.step,
                question=QUESTION,
                answer={
                    "optimizer": watched.index,
                    "still equal": "\n".join(equal),
                    "updates": watched.steps,
                },
            )
        )


@unseen
def _moved_together(values: torch.Tensor, row: torch.Tensor) -> bool:
    """Tell whether rows that started as `row` differ from each other by far less than they moved."""
    if values.shape[1:] != row.shape[1:]:
        return False
    apart = float((values - values[:1]).abs().max().item())
    went = float((values - row).abs().max().item())
    return apart <= TOGETHER * went or apart == 0.0
