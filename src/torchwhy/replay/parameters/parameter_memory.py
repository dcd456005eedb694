"""What earlier looks know of a parameter, and what has come to it since a later one began.

Between two looks nobody watches: a gradient may be left over from the phase before, values may have been trained,
loaded or drawn. What was not seen is not known, and is told as such.
"""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import torch
from torch import nn

from torchwhy.finding import SourceSpan
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import storage_key, version_of, weak_storage
from torchwhy.record.learning import ParameterSeen
from torchwhy.replay.crash.frames.construction import Builder

if TYPE_CHECKING:
    from torchwhy.replay.equipment import Stage

FEWEST = 8  # values of which the largest says something about what they were drawn from
NEAR_BOUND = (
    0.8  # of eight uniform values the largest is below this share of the bound in one case of six
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


# A parameter as it was when it was first described: how often it had been written, and the first phase that used it.
_Known = tuple["weakref.ref[torch.Tensor]", int, ParameterSeen, float]


@dataclass(frozen=True)
class _Gradient:
    reference: weakref.ref[torch.Tensor]
    weak: Any  # keeps the key from being reused
    key: int | None
    version: int


class ParameterMemory:
    """Keeps what each census told, and who was the first to train a parameter."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._seen: dict[int, _Known] = {}
        self._holders: dict[int, tuple[weakref.ref[torch.Tensor], int]] = {}
        self._left_over: dict[int, _Gradient] = {}

    def held_by(self, optimizer: int, parameters: list[torch.Tensor]) -> None:
        """Note that an optimizer makes its first step."""
        holders = self._holders
        for parameter in parameters:
            known = holders.get(id(parameter))
            if known is None or known[0]() is not parameter:
                holders[id(parameter)] = (weakref.ref(parameter), optimizer)

    def begin_observation(self, own: list[torch.Tensor]) -> None:
        """Note which gradients are there already; not those of another thread, which may be writing them."""
        self._left_over.clear()
        roots = self._stage.session.names.roots()
        parameters = {id(p): p for _, root in roots for p in root.parameters()}
        for parameter in [*parameters.values(), *own]:
            gradient = parameter.grad
            if gradient is not None and gradient.layout is torch.strided:
                self._left_over[id(parameter)] = _Gradient(
                    weakref.ref(parameter),
                    weak_storage(gradient),
                    storage_key(gradient),
                    version_of(gradient),
                )

    @unseen
    def has_arrived(self, parameter: torch.Tensor) -> bool:
        """Tell whether a parameter has got a gradient since the look at a later phase began."""
        gradient = parameter.grad
        if gradient is None:
            return False
        before = self._left_over.get(id(parameter))
        if before is None or before.reference() is not parameter:
            return True
        if storage_key(gradient) != before.key:
            return True
        # One that was filled with zeros to clear it has been written, too.
        return version_of(gradient) != before.version and bool(gradient.any().item())

    def was_trained(self, parameter: torch.Tensor, *, observation: set[int]) -> bool:
        """Tell whether an optimizer that does not belong to the phase in hand was the first to hold a parameter."""
        holder = self._holder(parameter)
        return bool(self._stage.observation) and holder is not None and holder not in observation

    def was_used(self, parameter: torch.Tensor) -> bool:
        """Tell whether an earlier look saw a parameter at work."""
        known = self._known(parameter)
        return known is not None and known[3] < self._stage.observation

    def complete(
        self, parameter: torch.Tensor, entry: ParameterSeen, module: nn.Module | None
    ) -> ParameterSeen:
        """Return the entry of a later census with what an earlier look saw, where this one saw nothing."""
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
        """Keep what a census told; without a call for each parameter, since the first step waits for it."""
        observation, kept = self._stage.observation, self._seen
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
        """Return where the source makes a module, of which no look saw how it was made."""
        if not self._stage.observation:
            return None
        made = Builder(self._stage.session.names, []).made_at(module)
        return made.span if made is not None else None

    def _known(self, parameter: torch.Tensor) -> _Known | None:
        known = self._seen.get(id(parameter))
        return known if known is not None and known[0]() is parameter else None

    def _holder(self, parameter: torch.Tensor) -> int | None:
        holder = self._holders.get(id(parameter))
        return holder[1] if holder is not None and holder[0]() is parameter else None


@unseen
def _is_as_drawn(module: nn.Module, parameter: torch.Tensor) -> bool:
    """Tell whether values fill the interval that torch draws a new layer's from, and none lies beyond.

    A few updates carry some weight across its end; what was loaded had them.
    """
    bounds = list(_bounds(module, parameter))
    if not bounds or parameter.numel() < FEWEST or not parameter.is_floating_point():
        return False
    largest = float(parameter.detach().abs().max().item())
    return any(NEAR_BOUND * bound <= largest <= bound * (1 + BEYOND) for bound in bounds)


def _bounds(module: nn.Module, parameter: torch.Tensor) -> list[float]:
    """Return the ends of the intervals that layers draw from by themselves, or by the usual uniform functions."""
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
