"""Optimizers that were made and never step, while backward passes go by."""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING

import torch

from torchwhy.observe.program.frames import Site, span_of, user_sites
from torchwhy.observe.steps.watched_optimizers import WatchedOptimizer
from torchwhy.observe.torch_features.tensor_parts import version_of
from torchwhy.record.wiring import IdleOptimizer

if TYPE_CHECKING:
    from torchwhy.observe.session import Session

PARAMETERS_WATCHED = 3  # whoever updates one of an optimizer's parameters by hand updates all
MOST_NODES = 5000  # of the graph of a loss, on the way to its leaves
FIRST_TOLD = 3  # backward passes without a step; then told at twice as many, and so on

Mark = tuple[int, float]  # version and first element of a parameter


class IdleOptimizerWatch:
    """Counts backward passes since an optimizer was made; costs nothing once it has stepped."""

    def __init__(self, session: Session) -> None:
        self._session = session
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
        ):  # not "the first pass": another thread may have counted that one
            self._marks[index] = _marks(watched)
        is_asked = index not in self._reached_at and count <= FIRST_TOLD
        if is_asked and _reaches(roots, {id(parameter) for parameter in watched.parameters()}):
            self._reached_at[index] = next(iter(user_sites(frame, limit=1)), None)
        if count == self._next_told.get(index, FIRST_TOLD):
            self._next_told[index] = 2 * count
            place = self._reached_at.get(index)
            self._session.write(
                IdleOptimizer(
                    step=self._session.sentinel.step,
                    optimizer=index,
                    backwards=count,
                    gradients=index in self._reached_at,
                    changed=_marks(watched) != self._marks[index],
                    scaled=self._session.sentinel.scaler is not None,
                    location=span_of(place) if place else None,
                )
            )


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
    # `p.data -= …` leaves no trace in the version, so a value is kept as well.
    return [
        (version_of(parameter), float(parameter.detach().flatten()[0].item()))
        for parameter in watched.parameters()[:PARAMETERS_WATCHED]
        if parameter.numel() and parameter.layout is torch.strided and not parameter.is_complex()
    ]
