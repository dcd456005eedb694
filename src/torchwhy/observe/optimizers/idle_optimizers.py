"""Finds optimizers that never step while the program makes backward passes."""

from __future__ import annotations

from types import FrameType

import torch

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer
from torchwhy.observe.program.frames import Site, span_of, user_sites
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.loss_scale import LossScale
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.tensor_parts import local_part, version_of
from torchwhy.record.wiring import IdleOptimizer

PARAMETERS_WATCHED = 3  # a manual update of one of an optimizer's parameters updates all
MOST_NODES = 5000  # of the graph of a loss, on the way to its leaves
FIRST_TOLD = 3  # backward passes without a step before the first event; the next ones come at doubling counts

Mark = tuple[int, float]  # version and first element of a parameter


class IdleOptimizerWatch:
    """Counts backward passes since an optimizer was made; costs nothing once it has stepped."""

    def __init__(self, recorder: Recorder, state: TrainingState, scale: LossScale) -> None:
        self._recorder = recorder
        self._state = state
        self._scale = scale
        self._backwards: dict[int, int] = {}
        self._marks: dict[int, list[Mark]] = {}
        self._next_told: dict[int, int] = {}
        self._reached_at: dict[int, Site | None] = {}

    def before_backward(
        self, watched: WatchedOptimizer, roots: list[torch.Tensor], frame: FrameType | None
    ) -> None:
        """Count one more backward pass for an optimizer that has not stepped yet."""
        index = watched.index
        count = self._backwards[index] = self._backwards.get(index, 0) + 1
        if (
            index not in self._marks
        ):  # not `count == 1`: another thread may have counted the first pass
            self._marks[index] = _marks(watched)
        is_asked = index not in self._reached_at and count <= FIRST_TOLD
        if is_asked and _reaches(roots, {id(parameter) for parameter in watched.parameters()}):
            self._reached_at[index] = next(iter(user_sites(frame, limit=1)), None)
        if count == self._next_told.get(index, FIRST_TOLD):
            self._next_told[index] = 2 * count
            place = self._reached_at.get(index)
            self._recorder.write(
                IdleOptimizer(
                    step=self._state.step,
                    optimizer=index,
                    backwards=count,
                    gradients=index in self._reached_at,
                    changed=_marks(watched) != self._marks[index],
                    scaled=self._scale.scaler is not None,
                    location=span_of(place) if place else None,
                )
            )

    def is_out_of_reach(self, watched: WatchedOptimizer) -> bool:
        """Tell whether an optimizer was asked about often enough, and no backward pass reached its parameters.

        A target network may bring an optimizer along that nobody uses.
        """
        index = watched.index
        return self._backwards.get(index, 0) >= FIRST_TOLD and index not in self._reached_at


def _reaches(roots: list[torch.Tensor], wanted: set[int]) -> bool:
    """Tell whether the backward pass of these losses gives one of these parameters a gradient."""
    waiting = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen = set(waiting)
    while waiting and len(seen) < MOST_NODES:
        node = waiting.pop()
        if id(getattr(node, "variable", None)) in wanted:
            return True
        for below, _ in node.next_functions:
            if below is not None and below not in seen:
                seen.add(below)
                waiting.append(below)
    return False


def _marks(watched: WatchedOptimizer) -> list[Mark]:
    # `p.data -= …` does not change the version, so a value is kept as well.
    return [
        (version_of(parameter), float(local_part(parameter).detach().flatten()[0].item()))
        for parameter in watched.parameters()[:PARAMETERS_WATCHED]
        if local_part(parameter).numel()
        and parameter.layout is torch.strided
        and not parameter.is_complex()
    ]
