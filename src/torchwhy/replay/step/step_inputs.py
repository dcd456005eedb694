"""What goes into a step besides the weights: the program's variables and the random state, to compare two times."""

from __future__ import annotations

import random
import sys
import zlib
from collections.abc import Iterator, Mapping
from types import FrameType, ModuleType
from typing import Any

import torch

from torchwhy.observe.devices import generator_states
from torchwhy.observe.probes.released_batches import tensors_of
from torchwhy.observe.program.names import borrowed_locals
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import has_values, local_part, version_of
from torchwhy.source.files import layer_of

MOST_VARIABLES = 400  # of one frame, or attributes of one object
MOST_BYTES = 2**24  # of a tensor of which a digest is recorded
LEFT_OUT = (float, complex, str, bytes)
PLAIN = (bool, int, float, complex, str, bytes, type(None))


class StepInputs:
    """The variables of the program's live frames at one moment, by reference; held only while a step is repeated."""

    def __init__(self) -> None:
        self._values = dict(_inputs())
        self._versions = {
            name: version_of(value)
            for name, value in self._values.items()
            if isinstance(value, torch.Tensor)
        }
        self._random = _random_states()

    @unseen
    def moved(self, earlier: StepInputs) -> list[str]:
        """Return the variables whose values differ from an earlier moment; those of only one moment do not count."""
        return [
            name
            for name, value in self._values.items()
            if name in earlier._values and not earlier._has(name, value)
        ]

    def draws_the_same(self, earlier: StepInputs) -> bool:
        """Tell whether every random generator is where it was at an earlier moment."""
        return self._random == earlier._random

    def _has(self, name: str, value: Any) -> bool:
        own = self._values[name]
        if not isinstance(own, torch.Tensor) or not isinstance(value, torch.Tensor):
            return type(own) is type(value) and repr(own) == repr(value)
        if version_of(own) != self._versions[name]:
            return False  # it was written since, so its values of that moment are gone
        return own is value or _same_values(own, value)

    @unseen
    def digests(self) -> dict[str, str]:
        """Return short texts that are equal for equal values, for a comparison with another process.

        Without floating-point numbers, which are often sums of losses, and without the directory in texts.
        """
        values = self._values.items()
        return {name: _digest(value) for name, value in values if not isinstance(value, LEFT_OUT)}


def _inputs() -> Iterator[tuple[str, Any]]:
    """Yield numbers, texts and tensors without graph in variables of the program, by unique names."""
    frame: FrameType | None = frame_at(2)
    depth, modules = 0, {}
    while frame is not None:
        if layer_of(frame.f_code.co_filename) == "user":
            modules[id(frame.f_globals)] = frame.f_globals
            if frame.f_code.co_name != "<module>":
                place = f"{frame.f_code.co_name}#{depth}"
                yield from _values_in(borrowed_locals(frame), place)
                depth += 1
        frame = frame.f_back
    for number, variables in enumerate(modules.values()):
        yield from _values_in(variables, f"#{number}")


def _values_in(variables: Mapping[str, Any], place: str) -> Iterator[tuple[str, Any]]:
    for name, value in list(variables.items())[:MOST_VARIABLES]:
        if name.startswith("__"):
            continue
        yield from ((f"{part}@{place}", held) for part, held in _parts(name, value))


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, PLAIN):
        yield name, value
    elif isinstance(value, (torch.Tensor, list, tuple, Mapping)):
        for path, tensor in tensors_of(value, name, depth=3):
            if not tensor.requires_grad and has_values(tensor):
                yield path, tensor
    elif not isinstance(value, (type, ModuleType, torch.nn.Module)):
        held = getattr(value, "__dict__", None)
        attributes = list(held.items())[:MOST_VARIABLES] if isinstance(held, dict) else []
        for attribute, inner in attributes:
            if isinstance(inner, PLAIN) or (
                isinstance(inner, torch.Tensor) and not inner.requires_grad and has_values(inner)
            ):
                yield f"{name}.{attribute}", inner


def shown(name: str) -> str:
    """Return a variable's name as the program has it."""
    return name.partition("@")[0]


def _same_values(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype or one.device != other.device:
        return False
    if one.layout is not torch.strided or one.is_quantized:
        return False
    one, other = local_part(one), local_part(other)
    equal = (one == other) | ((one != one) & (other != other))  # noqa: PLR0124 - true for NaN alone
    return bool(equal.all().item())


def _digest(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)[:200]
    shape = f"{value.dtype}{list(value.shape)}"
    size = value.numel() * value.element_size()
    if value.layout is not torch.strided or size > MOST_BYTES or value.is_quantized:
        return shape
    plain = local_part(value).detach().cpu().contiguous().reshape(-1).view(torch.uint8)
    return f"{shape}:{zlib.crc32(plain.numpy().tobytes()):08x}" if "numpy" in sys.modules else shape


def _random_states() -> list[Any]:
    numpy: Any = sys.modules.get("numpy")
    of_torch = generator_states.take()
    states: list[Any] = [of_torch.cpu.tolist(), random.getstate()]
    states += [state.tolist() for state in of_torch.devices]
    if numpy is not None and hasattr(numpy, "random"):
        states.append(repr(numpy.random.get_state(legacy=True)))
    return states
