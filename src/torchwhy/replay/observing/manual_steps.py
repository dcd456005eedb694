"""Steps of a program without an optimizer: each backward pass is a step, and the next one ends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizers
from torchwhy.replay.observing.observed_step import ObservedStep
from torchwhy.replay.parameters.manual_updates import ManualUpdates


class ManualSteps:
    """Called before every backward pass; does nothing once the program has made an optimizer."""

    def __init__(
        self,
        step: ObservedStep,
        manual_updates: ManualUpdates,
        optimizers: WatchedOptimizers,
        protect: Callable[..., Any],
    ) -> None:
        self._step = step
        self._optimizers = optimizers
        self._note_update = protect("update probe", manual_updates.before_backward)

    def before_backward(
        self, losses: list[torch.Tensor], *, step_begins: Callable[[], None]
    ) -> None:
        """Begin the next step, and look for a manual update since the last one."""
        if not self._optimizers.any_made:
            step_begins()
            self._step.begin_manual_step()
            self._note_update(losses)
