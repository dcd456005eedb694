"""Counts the steps of optimizers that are part of compiled code, which no hook sees.

If the weights and the state of an optimizer changed while compiled code ran, and it has never made a step of its own,
compiled code has made one; weights alone are also initialised or clamped. One without state steps at most once after a
backward pass. The loss is known if the backward pass is not compiled, too; weights are checked now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer, WatchedOptimizers
from torchwhy.observe.steps import gradients
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import has_versions, version_of

STEPS_BETWEEN_CHECKS = (
    16  # of the weights: bad ones stay bad, and a second run looks at all steps since
)


class CompiledSteps:
    """Compares the versions of weights when compiled code begins and when it ends."""

    def __init__(
        self,
        state: TrainingState,
        optimizers: WatchedOptimizers,
        made: Callable[[WatchedOptimizer, list[str] | None, int | None], object],
    ) -> None:
        self._state = state
        self._optimizers = optimizers
        self._made = made
        self._marks: dict[int, tuple[int, list[Any]]] = {}  # versions of weights, and the state
        self._backwards: dict[int, int] = {}  # passes at the last step
        self._counted: dict[int, int] = {}
        self._checked: dict[int, int] = {}  # the last step after which the weights were finite

    def code_begins(self) -> None:
        """Remember the versions of the weights."""
        self._state.in_compiled_code = True
        self._marks = {w.index: _mark(w) for w in self._optimizers.all() if self._is_unseen(w)}

    def code_ends(self) -> None:
        """Count a step for each optimizer whose weights changed."""
        self.look()
        self._state.in_compiled_code = False

    def look(self) -> None:
        """Do the same between two parts of compiled code, before a backward pass."""
        if not self._state.in_compiled_code:
            return
        for watched in self._optimizers.all():
            before = self._marks.get(watched.index)
            if before is None or not self._is_unseen(watched):
                continue
            now = self._marks[watched.index] = _mark(watched)
            (weights, state), passes = now, self._state.backwards
            if weights == before[0]:
                continue
            if state != before[1] or (
                not state and passes != self._backwards.get(watched.index, 0)
            ):
                self._backwards[watched.index] = passes
                self._count(watched)

    def checked_at(self, watched: WatchedOptimizer) -> int | None:
        """Return the last step of compiled code after which the weights were finite; None if none was compiled."""
        return self._checked.get(watched.index, 0) if watched.index in self._counted else None

    def _is_unseen(self, watched: WatchedOptimizer) -> bool:
        return has_versions and watched.steps == self._counted.get(watched.index, 0)

    def _count(self, watched: WatchedOptimizer) -> None:
        count = self._counted[watched.index] = self._counted.get(watched.index, 0) + 1
        bad: list[str] | None = None
        if count % STEPS_BETWEEN_CHECKS == 1:
            bad = _bad_weights(watched)
        since = self._checked.get(watched.index, 0)
        self._made(watched, bad, since)
        if bad == []:
            self._checked[watched.index] = count - 1


@unseen
def _mark(watched: WatchedOptimizer) -> tuple[int, list[Any]]:
    parameters = watched.parameters()[:2]
    known = getattr(watched.optimizer, "state", {})
    values = [value for one in parameters for value in known.get(one, {}).values()]
    state = [
        version_of(value) if isinstance(value, torch.Tensor) else value
        for value in values
        if isinstance(value, (torch.Tensor, int, float))
    ]
    return sum(map(version_of, parameters)), state


def _bad_weights(watched: WatchedOptimizer) -> list[str]:
    pairs = zip(watched.names(), watched.parameters(), strict=True)
    return [name for name, parameter in pairs if not gradients.is_finite(parameter)]
