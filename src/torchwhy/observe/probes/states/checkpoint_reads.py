"""Notes what `torch.load` reads: weights, and the state of optimizers, schedulers and scalers; compares it later.

A checkpoint is not kept alive: of its weights, names, sizes and a few first values are kept.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from types import FrameType
from typing import Any, Literal

import torch
from torch import nn

from torchwhy.observe.hooks import Hooks
from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer
from torchwhy.observe.probes.states.optimizer_states import entry_of_optimizer, numbers_in, sizes_of
from torchwhy.observe.program.frames import span_of, user_sites
from torchwhy.observe.program.names import Names, parameters_of
from torchwhy.observe.torch_features.tensor_parts import has_values, local_part
from torchwhy.observe.torch_features.torch_internals import note_checkpoints
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Event
from torchwhy.record.kept.kept_state import CheckpointEntry, CheckpointMet, CheckpointRead

NEEDS = ("checkpoint-reading",)
MOST_READS = 8  # files; a program that reads more of them reads data
MOST_TENSORS = 2000  # of one entry
MOST_LOADS = 32  # modules that load a state after a file was read
MOST_NAMES = 8  # names of tensors in an event
VALUES = 8  # first values of a tensor, to compare with those of a parameter
COMPARED = 400  # parameters that are compared
SCHEDULER = {"last_epoch", "_step_count"}
SCALER = {"scale", "growth_factor", "backoff_factor"}


@dataclass
class _Weights:
    """The weights in one entry: sizes and first values by name, and which module loaded them."""

    key: str
    sizes: dict[str, tuple[int, ...]]
    values: dict[str, torch.Tensor]
    tensors: dict[int, weakref.ref[torch.Tensor]]
    loaded_into: list[weakref.ref[nn.Module]] = field(default_factory=list)


@dataclass
class _Read:
    index: int
    weights: list[_Weights]
    other_loads: list[weakref.ref[nn.Module]] = field(default_factory=list)


class CheckpointReads:
    """Describes each checkpoint when it is read, and again when an optimizer makes its first step."""

    def __init__(
        self, write: Callable[[Event], None], step: Callable[[], int], names: Names
    ) -> None:
        self._write = write
        self._step = step
        self._names = names
        self._reads: list[_Read] = []

    def install(self, hooks: Hooks, protect: Callable[[str, Any], Any]) -> None:
        """Notice what `torch.load` returns."""
        note_checkpoints(hooks.replace, protect("checkpoint probe", self.read))

    def read(self, found: Any, frame: FrameType) -> None:
        """Note what a file holds, if it is the state of a training."""
        sites = user_sites(frame, limit=1)
        if len(self._reads) >= MOST_READS or not isinstance(found, Mapping) or not sites:
            return
        weights: list[_Weights] = []
        entries = [e for key, value in _parts_of(found) if (e := _entry(key, value, weights))]
        if not any(entry.kind in ("weights", "optimizer") for entry in entries):
            return
        read = _Read(len(self._reads), weights)
        self._reads.append(read)
        self._write(
            CheckpointRead(
                step=self._step(),
                index=read.index,
                entries=entries,
                location=span_of(sites[0]),
            )
        )

    def loaded(self, module: nn.Module, state: Mapping[str, Any]) -> int:
        """Note that a module loads a state; return the checkpoint that most of its tensors come from, else -1."""
        best, most = -1, 0
        for read in self._reads:
            if len(read.other_loads) < MOST_LOADS:
                read.other_loads.append(weakref.ref(module))
            for weights in read.weights:
                same = sum(_is_of(weights, value) for value in state.values())
                if same and len(weights.loaded_into) < MOST_LOADS:
                    weights.loaded_into.append(weakref.ref(module))
                if same > most:
                    best, most = read.index, same
        return best

    def before_first_step(self, watched: WatchedOptimizer) -> None:
        """Compare every checkpoint with the models that an optimizer is about to train."""
        held = {id(parameter) for parameter in watched.parameters()}
        for read in self._reads:
            for weights in read.weights:
                for name, model in self._names.roots():
                    own = dict(parameters_of(model))
                    if any(id(parameter) in held for parameter in own.values()):
                        self._compare(watched, (read, weights), (name, model), own)

    def _compare(
        self,
        watched: WatchedOptimizer,
        given: tuple[_Read, _Weights],
        named: tuple[str, nn.Module],
        own: Mapping[str, torch.Tensor],
    ) -> None:
        read, weights = given
        fitting = [n for n, one in own.items() if weights.sizes.get(n) == tuple(one.shape)]
        if not fitting:
            return
        compared = [n for n in fitting if n in weights.values and has_values(own[n])][:COMPARED]
        optimizer = watched.optimizer
        groups = optimizer.param_groups
        self._write(
            CheckpointMet(
                step=self._step(),
                optimizer=watched.index,
                read=read.index,
                key=weights.key,
                model=named[0],
                parameters=len(own),
                fits=len(fitting),
                compared=len(compared),
                equal=sum(_is_equal(own[n], weights.values[n]) for n in compared),
                applied=_applied(read, weights, named[1]),
                kept=sizes_of(optimizer.state),
                groups=[len(group["params"]) for group in groups],
                rates=[float(group.get("lr") or 0.0) for group in groups],
                settings=numbers_in(groups[0]) if groups else {},
            )
        )


def _parts_of(found: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Yield a file as a whole, its entries, and those of entries that only group others."""
    yield "", found
    for key, value in found.items():
        if isinstance(key, str):
            yield key, value


def _entry(key: str, value: Any, weights: list[_Weights]) -> CheckpointEntry | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return CheckpointEntry(key=key, kind="count", position=float(value))
    if not isinstance(value, Mapping):
        return None
    if isinstance(value.get("param_groups"), list) and isinstance(value.get("state"), Mapping):
        return entry_of_optimizer(key, value)
    if value.keys() >= SCHEDULER:
        return CheckpointEntry(key=key, kind="scheduler", position=float(value["last_epoch"]))
    if value.keys() >= SCALER:
        return CheckpointEntry(key=key, kind="scaler", position=float(value["scale"]))
    return _entry_of_weights(key, value, weights)


def _entry_of_weights(
    key: str, value: Mapping[Any, Any], weights: list[_Weights]
) -> CheckpointEntry | None:
    tensors = {
        name: one
        for name, one in list(value.items())[:MOST_TENSORS]
        if isinstance(name, str) and isinstance(one, torch.Tensor) and has_values(one)
    }
    if not tensors or len(tensors) < len(value) / 2:
        return None
    weights.append(
        _Weights(
            key,
            {name: tuple(one.shape) for name, one in tensors.items()},
            dict(_telling_values(tensors)),
            {id(one): weakref.ref(one) for one in tensors.values()},
        )
    )
    return CheckpointEntry(
        key=key, kind="weights", size=len(tensors), names=list(tensors)[:MOST_NAMES]
    )


def _telling_values(tensors: Mapping[str, torch.Tensor]) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the first values of the weights that have different ones: every new layer may have the others."""
    for name, one in tensors.items():
        if one.is_floating_point():
            values = _first_values(one)
            if bool(values.ne(values[:1]).any().item()):
                yield name, values


def _first_values(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy of the first values, as numbers on the CPU."""
    tensor = local_part(tensor)
    flat = tensor.detach().reshape(-1) if tensor.is_contiguous() else tensor.detach().flatten()
    return flat[:VALUES].to("cpu", torch.float32, copy=True)


def _is_equal(parameter: torch.Tensor, values: torch.Tensor) -> bool:
    return bool(torch.equal(_first_values(parameter), values))


def _is_of(weights: _Weights, value: Any) -> bool:
    known = weights.tensors.get(id(value))
    return known is not None and known() is value


def _applied(
    read: _Read, weights: _Weights, model: nn.Module
) -> Literal["here", "elsewhere", "gone", "never"]:
    """Tell which module loaded some weights; what a model loaded later may be computed from them."""
    if _is_among(weights.loaded_into, model):
        return "here"
    if any(one() is not None for one in weights.loaded_into):
        return "elsewhere"
    if _is_among(read.other_loads, model):
        return "elsewhere"
    return "gone" if weights.loaded_into else "never"


def _is_among(loaded: list[weakref.ref[nn.Module]], model: nn.Module) -> bool:
    """Tell whether one of some modules is a model, a part of it, or holds it."""
    living = [module for one in loaded if (module := one()) is not None]
    parts = {id(part) for part in model.modules()}
    return any(
        id(module) in parts or any(part is model for part in module.modules()) for module in living
    )
