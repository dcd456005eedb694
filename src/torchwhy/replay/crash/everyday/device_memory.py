"""Notes what the memory of an accelerator is used for when it runs out: weights, gradients, states, variables.

What is left over belongs to graphs: activations that a backward pass needs, which have no name in the program.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

import torch

from torchwhy.observe.devices.generator_states import accelerator_type
from torchwhy.observe.probes.memory.holders import Search, base_of, is_tensor, items_of
from torchwhy.observe.torch_features.tensor_parts import storage_key
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts

OUT_OF_MEMORY = "out of memory"
COUNTERS = ("memory_allocated", "current_allocated_memory")  # the latter is that of MPS
DEEPEST = 3  # a list of dictionaries of lists
MOST_TENSORS = 100_000


def note_device_memory(frames: list[TracebackFrame], hidden: HiddenFacts) -> None:
    """Note how many bytes of the accelerator each kind of holder has, memory that several share once."""
    kind = accelerator_type()
    module: Any = getattr(torch, kind, None) if kind else None
    counter = next((getattr(module, name) for name in COUNTERS if hasattr(module, name)), None)
    if counter is None:
        return
    counted = _Counted(kind)
    optimizers = [one for one in gc.get_objects() if issubclass(type(one), torch.optim.Optimizer)]
    weights = [p for one in optimizers for group in one.param_groups for p in group["params"]]
    states = [value for one in optimizers for held in one.state.values() for value in held.values()]
    hidden.facts["held_by_weights"] = counted.bytes_of(weights)
    hidden.facts["held_by_gradients"] = counted.bytes_of(p.grad for p in weights)
    hidden.facts["held_by_optimizers"] = counted.bytes_of(states)
    name, size, tensors = counted.largest_variable(frames[-1].live if frames else None)
    hidden.facts["device_allocated"] = float(counter())
    if size:
        hidden.facts["largest_variable"] = name
        hidden.facts["held_by_variable"] = size
        hidden.facts["tensors_of_variable"] = float(tensors)


class _Counted:
    """Counts memory of one kind of device, each piece for the first who has it."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._known: set[int] = set()

    def bytes_of(self, values: Iterable[Any]) -> float:
        """Return the bytes of some tensors on the device."""
        return float(sum(self._size_of(value) for value in values))

    def largest_variable(self, frame: FrameType | None) -> tuple[str, float, int]:
        """Return the variable of the program that holds most of what is not counted yet, its bytes and tensors."""
        found = [("", 0.0, 0)]
        for holder in Search().holders(frame):
            tensors = list(_tensors_in(holder.value, DEEPEST))
            found.append((holder.name, self.bytes_of(tensors), len(tensors)))
        return max(found, key=lambda one: one[1])

    def _size_of(self, value: Any) -> int:
        if not is_tensor(value) or value.device.type != self._kind:
            return 0
        key = storage_key(value)
        if key is None or key in self._known:
            return 0
        self._known.add(key)
        return int(value.untyped_storage().nbytes())


def _tensors_in(value: Any, depth: int) -> Iterator[torch.Tensor]:
    if is_tensor(value):
        yield value
    elif depth and base_of(value) is not None:
        for _, item in list(items_of(value))[:MOST_TENSORS]:
            yield from _tensors_in(item, depth - 1)
