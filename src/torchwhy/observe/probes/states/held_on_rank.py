"""Notes what this rank holds before a few steps, so that ranks can be compared later: none asks another here."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torchwhy.observe.optimizers.gradient_groups import averaged_parameters, averaging_wrappers
from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer
from torchwhy.observe.probes.weights import chosen
from torchwhy.observe.program.names import Names
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import gradient_of, has_values, is_of_ranks
from torchwhy.observe.torch_features.torch_internals import world_size
from torchwhy.record.events import Event
from torchwhy.record.numbers import encode
from torchwhy.record.ranks.rank_events import GradientsReduced, HeldOnRank, TensorHeld

LOOKS = (0, 3, 12)  # steps of an optimizer
REDUCED_LOOKS = (1, 3, 5)
MOST_ELEMENTS = 256  # of each tensor
MOST_VALUES = 4  # of a weight, as numbers
MOST_OPTIMIZERS = 4


class HeldOnRankProbe:
    """Looks at the parameters of an optimizer, and counts the reductions that lead to its steps."""

    def __init__(
        self,
        write: Callable[[Event], None],
        names: Names,
        state: TrainingState,
        *,
        ranks_train: Callable[[], object],
    ) -> None:
        self._write = write
        self._ranks_train = ranks_train  # called before steps of a run with several ranks
        self._names = names
        self._state = state
        self._wrappers: weakref.WeakSet[nn.parallel.DistributedDataParallel] = weakref.WeakSet()
        self._backwards_before = self._reduced = 0

    @unseen
    def before_step(self, watched: WatchedOptimizer, step: int) -> None:
        """Look at the weights and gradients of some steps, if there are several ranks."""
        if world_size() == 1:
            return
        self._ranks_train()
        backwards = self._state.backwards - self._backwards_before
        reduced, self._reduced = self._reduced, 0
        self._backwards_before = self._state.backwards
        if watched.index >= MOST_OPTIMIZERS:
            return
        if watched.steps in LOOKS:
            self._wrappers = weakref.WeakSet(averaging_wrappers(self._names))
            self._write(
                HeldOnRank(
                    step=step,
                    optimizer=watched.index,
                    steps=watched.steps,
                    tensors=self._tensors(watched),
                    reduced=reduced > 0,
                )
            )
        if watched.steps in REDUCED_LOOKS and backwards > 1 and self._wrappers:
            size = sum(_bytes_of(one) for one in self._wrappers)
            self._write(
                GradientsReduced(step=step, backwards=backwards, reduced=reduced, bytes=size)
            )

    def before_backward(self) -> None:
        """Count a backward pass in which a wrapper reduces gradients; its last forward pass has decided that."""
        flags = (
            one.require_forward_param_sync and one.require_backward_grad_sync
            for one in self._wrappers
        )
        self._reduced += any(flags)

    def _tensors(self, watched: WatchedOptimizer) -> list[TensorHeld]:
        averaged = {id(p) for wrapper in self._wrappers for p in averaged_parameters(wrapper)}
        parameters, names = watched.parameters(), watched.names()
        return [
            _held(names[place], parameters[place], wrapped=id(parameters[place]) in averaged)
            for place in chosen(parameters)
            if _is_plain(parameters[place])
        ]


def _is_plain(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor is whole on this rank, with numbers that can be compared."""
    is_dense = tensor.layout is torch.strided and tensor.is_floating_point() and tensor.numel() > 0
    return is_dense and not is_of_ranks(type(tensor)) and has_values(tensor)


def _bytes_of(wrapper: nn.parallel.DistributedDataParallel) -> int:
    return sum(one.numel() * one.element_size() for one in averaged_parameters(wrapper))


def _held(name: str, parameter: torch.Tensor, *, wrapped: bool) -> TensorHeld:
    gradient = gradient_of(parameter)
    weights = _elements(parameter)
    some = weights[:: max(1, len(weights) // MOST_VALUES)][:MOST_VALUES]
    slopes = _elements(gradient) if gradient is not None and _is_plain(gradient) else []
    return TensorHeld(
        name=name,
        weight=_digest(weights),
        gradient=_digest(slopes) if len(set(slopes)) > 1 else "",
        weights=[encode(value) for value in some],
        wrapped=wrapped,
    )


def _elements(tensor: torch.Tensor) -> list[float]:
    stride = max(1, tensor.numel() // MOST_ELEMENTS)
    found: list[float] = tensor.detach().reshape(-1)[::stride][:MOST_ELEMENTS].tolist()
    return found


def _digest(values: list[float]) -> str:
    made: Any = hashlib.blake2b(repr(values).encode(), digest_size=6)
    return str(made.hexdigest())
