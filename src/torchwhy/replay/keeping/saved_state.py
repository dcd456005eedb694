"""Saves parameters, buffers, optimizers, scalers, schedules and random state as they were before the failing step.

The objects are found when the alarm is raised and saved when the step has been repeated: until then nothing writes to
the weights, and the buffers are put back. What moves on while the step is repeated is copied at once.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from torchwhy.observe.devices import generator_states
from torchwhy.observe.devices.generator_states import GeneratorStates
from torchwhy.observe.torch_features.tensor_parts import has_values, is_part
from torchwhy.plain_data import dataclass
from torchwhy.record.kept.kept_failure import StateKept
from torchwhy.replay.keeping.program_variables import RunningFrame, held_objects

STATE_FILE = "state.pt"
PLAIN_TYPES = (
    torch.Tensor,
    nn.Parameter,
    getattr(nn, "Buffer", torch.Tensor),
)  # torch 2.4 has no Buffer
PLAIN = (bool, int, float, complex, str, bytes, type(None))
SCHEDULES = (torch.optim.lr_scheduler.LRScheduler, torch.optim.lr_scheduler.ReduceLROnPlateau)


class NoPlainTensorError(Exception):
    """A state holds an object that `torch.load(weights_only=True)` would not read."""


@dataclass
class FoundState:
    """The states of the program's objects by the name of their entry, and the expressions that hold the objects."""

    parts: dict[str, Any] = field(default_factory=dict)
    held_by: dict[str, str] = field(default_factory=dict)
    models: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    loose: dict[str, list[torch.Tensor]] = field(default_factory=dict)
    random: dict[str, Any] = field(default_factory=dict)
    objects: list[Any] = field(
        default_factory=list
    )  # whose buffers are put back before they are saved

    def add(self, expression: str, kept: Any) -> str:
        """Add the state of one object under the last word of its expression; return the name of the entry."""
        word = "model" if expression == "self" else expression.rpartition(".")[2]
        name, number = word, 2
        while name in self.parts:
            name, number = f"{word}_{number}", number + 1
        self.parts[name] = kept
        self.held_by[name] = expression
        return name


def find_state(
    frames: list[RunningFrame], optimizers: list[Any], random_state: GeneratorStates | None
) -> FoundState:
    """Return the state of everything that the program's variables hold and training changes."""
    found = FoundState(random=_random_states(random_state))
    held = _distinct(held_objects(frames))
    models = [(text, one) for text, one in held if issubclass(type(one), nn.Module)]
    owned: set[int] = set()
    for text, model in _outermost(models):
        tensors = model.state_dict()
        if tensors:
            found.objects.append(model)
            found.models.append(found.add(text, _plain_or_name(found, text, tensors)))
            owned |= {id(parameter) for parameter in model.parameters()}
    by_identity = {id(one): text for text, one in held}
    for optimizer in optimizers:
        text = by_identity.get(id(optimizer), "optimizer")
        name = found.add(text, _plain_or_name(found, text, optimizer.state_dict()))
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        if any(id(parameter) not in owned for parameter in parameters):
            found.loose[name] = parameters
    for text, one in held:
        if isinstance(one, (torch.amp.GradScaler, *SCHEDULES)):
            # These move on while the step is repeated.
            found.add(text, _copied(_plain_or_name(found, text, one.state_dict())))
    for name in [name for name, kept in found.parts.items() if kept is None]:
        del found.parts[name], found.held_by[name]
        found.models = [model for model in found.models if model != name]
    return found


def save_state(
    found: FoundState, directory: Path, *, step: int, limit: int, restored: bool, drawn: bool
) -> StateKept:
    """Write the state into the run directory, if it fits; return what was done."""
    outcome = StateKept(
        step=step,
        limit=limit,
        parts=found.held_by,
        models=found.models,
        left_out=found.left_out,
        loose=list(found.loose),
        drawn=drawn,
        old_buffers=restored,
    )
    if not found.models and not found.loose:
        return _without_file(outcome, unkept="no-state")
    tensors = [tensor for tensor in _tensors(found) if tensor is not None]
    size = sum({_key(one): one.numel() * one.element_size() for one in tensors}.values())
    outcome = _with(outcome, size=size)
    if any(not _is_readable(tensor) for tensor in tensors):
        return _without_file(outcome, unkept="no-plain-tensors")
    if size > limit:
        return _without_file(outcome, unkept="too-large")
    content = {
        "step": step,
        "torch": str(torch.__version__),
        "parts": _detached(found.parts),
        "loose": _detached(found.loose),
        "random": found.random,
    }
    try:
        _write(content, directory / STATE_FILE)
    except (OSError, RuntimeError) as problem:
        return _without_file(outcome, unkept="not-written", detail=str(problem)[:200])
    return _with(outcome, file=STATE_FILE)


def _write(content: dict[str, Any], path: Path) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        torch.save(content, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _with(outcome: StateKept, **changes: Any) -> StateKept:
    import msgspec

    return msgspec.structs.replace(outcome, **changes)


def _without_file(outcome: StateKept, **changes: Any) -> StateKept:
    return _with(outcome, parts={}, **changes)


def _distinct(held: Iterator[tuple[str, Any]]) -> list[tuple[str, Any]]:
    found: dict[int, tuple[str, Any]] = {}
    for text, one in held:
        found.setdefault(id(one), (text, one))
    return list(found.values())


def _outermost(models: list[tuple[str, nn.Module]]) -> list[tuple[str, nn.Module]]:
    """Return the modules that are no part of another one."""
    inner = {id(part) for _, model in models for part in model.modules() if part is not model}
    return [(text, model) for text, model in models if id(model) not in inner]


def _plain_or_name(found: FoundState, text: str, state: Any) -> Any:
    """Return a state of tensors and plain values; None for any other, whose name is noted."""
    try:
        return _plain(state)
    except NoPlainTensorError:
        found.left_out.append(text)
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor) or type(value) in PLAIN:
        return value
    if isinstance(value, Mapping):
        return {_plain(key): _plain(held) for key, held in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_plain(one) for one in value)
    raise NoPlainTensorError


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: _copied(held) for key, held in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value


def _detached(value: Any) -> Any:
    """Return the same with tensors without graph, and with own memory where they are part of larger memory."""
    if isinstance(value, torch.Tensor):
        bare = value.detach()
        return bare.clone() if is_part(bare) else bare
    if isinstance(value, dict):
        return {key: _detached(held) for key, held in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_detached(one) for one in value)
    return value


def _tensors(found: FoundState) -> Iterator[torch.Tensor]:
    yield from _tensors_in(found.parts)
    yield from _tensors_in(found.loose)


def _tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for held in value.values():
            yield from _tensors_in(held)
    elif isinstance(value, (list, tuple)):
        for held in value:
            yield from _tensors_in(held)


def _key(tensor: torch.Tensor) -> int:
    return tensor.data_ptr() or id(tensor)


def _is_readable(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor is whole and plain: not sharded, quantized or without memory."""
    is_plain = type(tensor) in PLAIN_TYPES
    return is_plain and tensor.layout is torch.strided and has_values(tensor)


def _random_states(of_torch: GeneratorStates | None) -> dict[str, Any]:
    """Return the states of all generators; those that are not torch's are as they are now."""
    of_torch = of_torch or generator_states.take()
    states: dict[str, Any] = {
        "torch": of_torch.cpu.clone(),
        "python": random.getstate(),
    }
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        kind, keys, *rest = numpy.random.get_state(legacy=True)
        states["numpy"] = (str(kind), torch.tensor(keys.tolist()), *map(float, rest))
    if of_torch.devices:
        states[of_torch.kind] = [state.clone() for state in of_torch.devices]
    return states
