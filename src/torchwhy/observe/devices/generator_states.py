"""The states of torch's generators, the CPU's and those of the accelerator: taken together, and put back together.

An accelerator draws from generators of its own (dropout on a GPU), so a step is repeated faithfully only with these.
Taking a state waits for no device: torch keeps seed and position of each generator on the CPU.
"""

from __future__ import annotations

from typing import Any

import torch

from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.plain_data import dataclass


@dataclass(frozen=True)
class GeneratorStates:
    """One moment of all generators."""

    cpu: torch.Tensor
    devices: tuple[torch.Tensor, ...] = ()
    kind: str = ""  # of the devices: `cuda`

    def put_back(self) -> None:
        """Make all generators draw again what they drew after this moment."""
        torch.set_rng_state(self.cpu)
        module = _in_use() if self.devices else None
        if module is None:
            return
        if len(self.devices) == 1:
            module.set_rng_state(self.devices[0])
        for index, state in enumerate(self.devices if len(self.devices) > 1 else ()):
            module.set_rng_state(state, torch.device(self.kind, index))

    @unseen
    def equals(self, other: GeneratorStates) -> bool:
        """Tell whether no generator has drawn between the two moments."""
        own, others = (self.cpu, *self.devices), (other.cpu, *other.devices)
        return len(own) == len(others) and all(map(torch.equal, own, others))


def take() -> GeneratorStates:
    """Return the states of this moment; changes none of them."""
    cpu, module = torch.default_generator.get_state(), _in_use()
    if module is None:
        return GeneratorStates(cpu)
    kind, count = accelerator_type(), module.device_count()
    if count <= 1:
        return GeneratorStates(cpu, (module.get_rng_state(),), kind)
    devices = (module.get_rng_state(torch.device(kind, index)) for index in range(count))
    return GeneratorStates(cpu, tuple(devices), kind)


def accelerator_type() -> str:
    """Return the kind of accelerator that this torch drives, whether or not one is here; empty if none."""
    find = getattr(getattr(torch, "accelerator", None), "current_accelerator", None)
    if find is None:  # before torch 2.6
        return "cuda"
    device = find()
    return "" if device is None else str(device.type)


def _in_use() -> Any:
    """Return torch's module for the accelerator, if the program has begun to use one that has generators."""
    kind = accelerator_type()
    module: Any = getattr(torch, kind, None) if kind else None
    if (
        module is None
        or not hasattr(module, "get_rng_state")
        or not hasattr(module, "device_count")
    ):
        return None
    has_begun = getattr(module, "is_initialized", None) or module.is_available
    return module if has_begun() else None
