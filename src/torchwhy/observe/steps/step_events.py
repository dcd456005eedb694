"""Writes what is recorded of a step: losses, rates and batch shapes; on sampled steps also the size of each weight."""

from __future__ import annotations

import time

import torch

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer
from torchwhy.observe.probes.batches import BatchKeeper, described
from torchwhy.observe.probes.weights import chosen, from_norms, root_mean_squares
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.budget import Budget
from torchwhy.observe.steps.check import Check
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.record.events import ClosureRan, Step, Weights


def is_sampled(watched: WatchedOptimizer) -> bool:
    """Tell whether the weights of an optimizer are measured at its current step."""
    return watched.steps >= watched.next_sample


class StepEvents:
    """Writes one `Step` for each step that goes the thorough way, and `Weights` when the budget asks for them."""

    def __init__(
        self, recorder: Recorder, state: TrainingState, batches: BatchKeeper, budget: Budget
    ) -> None:
        self._recorder = recorder
        self._state = state
        self._batches = batches
        self._budget = budget
        self._shapes: list[str] | None = None

    @unseen
    def record(self, check: Check, gradients: list[torch.Tensor | None]) -> None:
        """Write the events of a step that is about to be made."""
        now = time.perf_counter()
        milliseconds, self._state.began = (now - self._state.began) * 1000, now
        watched = check.watched
        self._recorder.write(
            Step(
                step=check.step,
                optimizer=watched.index if watched else -1,
                losses=check.losses,
                milliseconds=round(milliseconds, 3),
                learning_rates=watched.changed_rates() if watched else None,
                batch=self.changed_shapes(),
                gradients_finite=not check.bad_gradients,
            )
        )
        if watched is not None:
            watched.gradient_sizes = None
            if is_sampled(watched) or check.is_bad:
                self._measure_weights(check, watched, gradients)
                watched.next_sample = self._budget.next_sample(watched.steps)

    def record_closure(self, check: Check) -> None:
        """Write the first loss of a step's closure; the later ones belong to a line search."""
        if check.losses:
            self._recorder.write(ClosureRan(step=check.step, loss=check.losses[0]))

    def _measure_weights(
        self, check: Check, watched: WatchedOptimizer, gradients: list[torch.Tensor | None]
    ) -> None:
        parameters, names = watched.parameters(), watched.names()
        picks = chosen(parameters)
        tensors = [*(gradients[i] for i in picks), *(parameters[i] for i in picks)]
        sizes = (
            root_mean_squares(tensors) if check.norms is None else from_norms(tensors, check.norms)
        )
        watched.gradient_sizes = sizes[: len(picks)]
        self._recorder.write(
            Weights(
                step=check.step,
                optimizer=watched.index,
                names=[names[i] for i in picks],
                weight_rms=sizes[len(picks) :],
                gradient_rms=watched.gradient_sizes,
            )
        )

    def changed_shapes(self) -> list[str] | None:
        """Return the shapes of the current batch if they differ from the last ones recorded."""
        batches = self._batches
        if batches.shapes is self._state.told_shapes:
            return None
        self._state.told_shapes = batches.shapes
        if not batches.recent:
            return None
        shapes = described(batches.recent[-1].data)
        if shapes == self._shapes:
            return None
        self._shapes = shapes
        return shapes
