"""Remembers what earlier observations saw of a parameter, and tells new gradients from old ones.

Between two observations the microscope is off: a gradient may be left over, and values may have been trained, loaded or
drawn. What was not seen is recorded as unknown.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import msgspec
import torch
from torch import nn

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.names import Names
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import (
    gradient_of,
    local_part,
    storage_key,
    version_of,
    weak_storage,
)
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import ParameterSeen
from torchwhy.replay.crash.frames.construction import Builder
from torchwhy.replay.observing.current_observation import CurrentObservation

FEWEST = 8  # values, from which on the largest tells the interval they were drawn from
NEAR_BOUND = (
    0.8  # of eight uniform values, the largest is below this share of the bound in one case of six
)
BEYOND = 1e-5  # rounding, relative
FAN_LAYERS = (
    nn.Linear,
    nn.Bilinear,
    nn.Conv1d,
    nn.Conv2d,
    nn.Conv3d,
    nn.ConvTranspose1d,
    nn.ConvTranspose2d,
    nn.ConvTranspose3d,
)


# A parameter when it was first described: its version, its entry, and the first observation that used it.
_Known = tuple["weakref.ref[torch.Tensor]", int, ParameterSeen, float]


@dataclass(frozen=True)
class _Gradient:
    reference: weakref.ref[torch.Tensor]
    weak: Any  # keeps the key from being reused
    key: int | None
    version: int


class ParameterMemory:
    """Keeps the entries of each census, and the first optimizer that held each parameter."""

    def __init__(self, names: Names, observation: CurrentObservation) -> None:
        self._names = names
        self._observation = observation
        self._seen: dict[int, _Known] = {}
        self._holders: dict[int, tuple[weakref.ref[torch.Tensor], int]] = {}
        self._left_over: dict[int, _Gradient] = {}

    def held_by(self, optimizer: int, parameters: list[torch.Tensor]) -> None:
        """Note the parameters of an optimizer at its first step."""
        holders = self._holders
        for parameter in parameters:
            known = holders.get(id(parameter))
            if known is None or known[0]() is not parameter:
                holders[id(parameter)] = (weakref.ref(parameter), optimizer)

    def begin_observation(self, own: list[torch.Tensor]) -> None:
        """Note which gradients exist already; not those of another thread, which may be writing them."""
        self._left_over.clear()
        parameters = {id(p): p for _, root in self._names.roots() for p in root.parameters()}
        for parameter in [*parameters.values(), *own]:
            gradient = gradient_of(parameter)
            if gradient is not None and gradient.layout is torch.strided:
                self._left_over[id(parameter)] = _Gradient(
                    weakref.ref(parameter),
                    weak_storage(gradient),
                    storage_key(gradient),
                    version_of(gradient),
                )

    @unseen
    def has_arrived(self, parameter: torch.Tensor) -> bool:
        """Tell whether a parameter received a gradient since the observation began."""
        gradient = gradient_of(parameter)
        if gradient is None:
            return False
        before = self._left_over.get(id(parameter))
        if before is None or before.reference() is not parameter:
            return True
        if storage_key(gradient) != before.key:
            return True
        # Filling it with zeros to clear it has written it, too.
        return version_of(gradient) != before.version and bool(gradient.any().item())

    def was_trained(self, parameter: torch.Tensor, *, optimizers: set[int]) -> bool:
        """Tell whether another optimizer than those of the observation was the first to hold a parameter."""
        holder = self._holder(parameter)
        is_later = bool(self._observation.number)
        return is_later and holder is not None and holder not in optimizers

    def was_used(self, parameter: torch.Tensor) -> bool:
        """Tell whether an earlier observation saw an operation use a parameter."""
        known = self._known(parameter)
        return known is not None and known[3] < self._observation.number

    def complete(
        self, parameter: torch.Tensor, entry: ParameterSeen, module: nn.Module | None
    ) -> ParameterSeen:
        """Return the entry of a later census, completed by what an earlier observation saw."""
        if entry.written_by != "unknown":
            return entry
        known = self._known(parameter)
        if known is None:
            drawn = module is not None and _is_as_drawn(module, parameter)
            return msgspec.structs.replace(entry, written_by="random" if drawn else "unknown")
        _, version, before, _ = known
        is_same = version_of(parameter) == version and entry.rms == before.rms
        written_by = before.written_by if is_same else "unknown"
        return msgspec.structs.replace(entry, written_by=written_by, made_at=before.made_at)

    def remember(self, seen: dict[int, ParameterSeen], parameters: dict[int, torch.Tensor]) -> None:
        """Keep the entries of a census; without a call per parameter, because the first step waits for it."""
        observation, kept = self._observation.number, self._seen
        for key, entry in seen.items():
            parameter, known = parameters.get(key), kept.get(key)
            used_in = observation if entry.used else math.inf
            if known is not None and known[0]() is parameter:
                if used_in < known[3]:
                    kept[key] = (*known[:3], used_in)
            elif parameter is not None:
                version = version_of(parameter)
                kept[key] = (weakref.ref(parameter), version, entry, used_in)

    def place_of(self, module: nn.Module) -> SourceSpan | None:
        """Return where the source makes a module that no observation saw being made."""
        if not self._observation.number:
            return None
        made = Builder(self._names, []).made_at(module)
        return made.span if made is not None else None

    def _known(self, parameter: torch.Tensor) -> _Known | None:
        known = self._seen.get(id(parameter))
        return known if known is not None and known[0]() is parameter else None

    def _holder(self, parameter: torch.Tensor) -> int | None:
        holder = self._holders.get(id(parameter))
        return holder[1] if holder is not None and holder[0]() is parameter else None


@unseen
def _is_as_drawn(module: nn.Module, parameter: torch.Tensor) -> bool:
    """Tell whether values fill the interval that torch draws a new layer's from, and none lies outside.

    A few updates move some weight out of the interval, so loaded weights do not pass.
    """
    bounds = list(_bounds(module, parameter))
    if not bounds or local_part(parameter).numel() < FEWEST or not parameter.is_floating_point():
        return False
    largest = float(local_part(parameter).detach().abs().max().item())
    return any(NEAR_BOUND * bound <= largest <= bound * (1 + BEYOND) for bound in bounds)


def _bounds(module: nn.Module, parameter: torch.Tensor) -> list[float]:
    """Return the bounds of the intervals that layers draw from by default, or by the usual uniform functions."""
    if isinstance(module, nn.RNNBase | nn.RNNCellBase):
        return [1 / math.sqrt(module.hidden_size)]
    if not isinstance(module, FAN_LAYERS):
        return []
    weight = module.weight
    inputs = int(weight.shape[1:].numel())
    if not inputs or not weight.numel():
        return []
    bounds = [1 / math.sqrt(inputs)]
    if parameter.dim() > 1:
        outputs = int(weight.numel() // weight.shape[1])
        bounds += [math.sqrt(6 / inputs), math.sqrt(6 / (inputs + outputs))]
    return bounds
