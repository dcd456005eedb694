"""Keeps an update out of the weights: the step writes nothing, or what it wrote is undone.

An optimizer of torch skips parameters without a gradient, and touches no state of theirs. Any other one may not expect
that; it makes its step, and weights, state and counters are put back after it. A step with a closure computes its own
gradients, so it can only be undone, from a copy taken before.
"""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

import torch

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.replay.microscope.backward_log import is_torchs_own

PLAIN = (bool, int, float, type(None))  # values of counters and rates, which an update may change


class WithheldUpdate:
    """Withholds the update of the step that is being made."""

    def __init__(self) -> None:
        self._copy: _Copy | None = None

    def begin_step(self) -> None:
        """Forget the copy of a step that ended in an exception."""
        self._copy = None

    def prepare(self, watched: WatchedOptimizer) -> None:
        """Copy what the coming step may change."""
        with suppress(Exception):  # state that cannot be copied cannot be put back either
            self._copy = _Copy(watched)

    def withhold(self, watched: WatchedOptimizer) -> None:
        """Make the coming step have no effect, or the one that was just made, if it was prepared."""
        if self._copy is None and not is_torchs_own(watched.optimizer):
            self.prepare(watched)
        if self._copy is None:
            watched.withhold()
        else:
            self._copy.is_wanted = True

    def after_step(self) -> None:
        """Undo the step that was made, if it was to be withheld."""
        copied, self._copy = self._copy, None
        if copied is not None and copied.is_wanted:
            copied.restore()


class _Copy:
    """What an optimizer can change: its parameters, its state, and the numbers among its attributes."""

    @unseen
    @torch.no_grad()
    def __init__(self, watched: WatchedOptimizer) -> None:
        self.is_wanted = False
        self._watched = watched
        optimizer = watched.optimizer
        self._parameters = [(p, p.detach().clone()) for p in watched.parameters()]
        self._state = {key: copy.deepcopy(value) for key, value in optimizer.state.items()}
        self._numbers = _numbers_in(vars(optimizer))
        self._groups = [(group, _numbers_in(group)) for group in optimizer.param_groups]

    @unseen
    @torch.no_grad()
    def restore(self) -> None:
        """Put everything back in place; the parameters have no gradient afterwards."""
        optimizer = self._watched.optimizer
        if optimizer is None:
            return
        for parameter, value in self._parameters:
            parameter.detach().copy_(value)
            parameter.grad = None
        for key in [key for key in optimizer.state if key not in self._state]:
            del optimizer.state[key]
        optimizer.state.update(self._state)
        vars(optimizer).update(self._numbers)
        for group, numbers in self._groups:
            group.update(numbers)


def _numbers_in(holder: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of an object by name, and copies of its tensors."""
    return {
        name: value.clone() if isinstance(value, torch.Tensor) else value
        for name, value in holder.items()
        if type(value) in PLAIN or isinstance(value, torch.Tensor)
    }
