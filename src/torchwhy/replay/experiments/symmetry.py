"""Weights whose rows were equal at the start: did training make them differ?"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import torch

from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.record.learning import Experiment
from torchwhy.replay.microscope.measures import rows_equal

if TYPE_CHECKING:
    from torchwhy.observe.session import Session
    from torchwhy.observe.steps.watched_optimizers import WatchedOptimizer

QUESTION = "do equal rows of a weight become different?"
TOGETHER = 1e-3  # distance between rows over the way they went: rounding in a matrix product makes them differ a little
ROUNDING = 1e-4  # the same after the first update, relative to the weight's size
ASKED_AFTER = (
    10,
    50,
)  # updates: a zero-initialised output layer or branch differs after one or two


class Symmetry:
    """Remembers which weights began with equal rows and looks at those again after some updates."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._equal: dict[int, list[tuple[str, weakref.ref[torch.Tensor], torch.Tensor]]] = {}

    def check(self, watched: WatchedOptimizer) -> None:
        """Called after each step; does something at the first one and at two later ones only."""
        if watched.steps == 0:
            # The first update is done. Rows that it made differ are no matter of interest.
            self._equal[watched.index] = [
                (name, weakref.ref(parameter), parameter.detach()[:1].clone())
                for name, parameter in zip(watched.names(), watched.parameters(), strict=True)
                if parameter.requires_grad
                and parameter.grad is not None
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
        self._session.write(
            Experiment(
                step=self._session.sentinel.step,
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
    """Tell whether rows that started as `row` differ from each other by far less than they went."""
    if values.shape[1:] != row.shape[1:]:
        return False
    apart = float((values - values[:1]).abs().max().item())
    went = float((values - row).abs().max().item())
    return apart <= TOGETHER * went or apart == 0.0
