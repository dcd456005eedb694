"""Compares each state that a module loads with what the module has, when the load begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import torch
from torch import nn

from torchwhy.observe.descriptors import NotedOnAccess
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizers
from torchwhy.observe.probes.states.checkpoint_reads import CheckpointReads
from torchwhy.observe.program.frames import Site, span_of, user_sites
from torchwhy.observe.program.names import borrowed_locals
from torchwhy.observe.program.weak_table import WeakTable
from torchwhy.observe.torch_features.module_parts import note_loads
from torchwhy.observe.torch_features.tensor_parts import storage_key, version_of
from torchwhy.record.events import Event
from torchwhy.record.kept.kept_state import StateLoaded

NEEDS = ("state-loading",)
MOST_PLACES = 16
MOST_AT_A_PLACE = 3  # loads; a target network is loaded again and again
MOST_NAMES = 64  # names of tensors in an event
SEARCHED = 20_000  # tensors of a module


class ModuleLoads:
    """Writes a `StateLoaded` for the first loads at each place."""

    def __init__(
        self,
        write: Callable[[Event], None],
        step: Callable[[], int],
        optimizers: WatchedOptimizers,
        reads: CheckpointReads,
    ) -> None:
        self._write = write
        self._step = step
        self._optimizers = optimizers
        self._reads = reads
        self._loads: dict[Site, int] = {}
        self._handed_out = WeakTable[int]()

    def install(self, hooks: Hooks, protect: Callable[[str, Any], Any]) -> None:
        """Notice which modules load a state."""
        note_loads(hooks.replace, NotedOnAccess, protect("load probe", self._begin))

    def handed_out(self, module: nn.Module) -> None:
        """Note that the program takes a module's state."""
        self._handed_out[module] = _writes(module)

    def _begin(self, module: nn.Module, frame: FrameType) -> None:
        sites = user_sites(frame.f_back, limit=1)
        variables = borrowed_locals(frame)
        state = variables.get("state_dict")
        if not sites or not isinstance(state, Mapping):
            return
        read = self._reads.loaded(module, state)
        loads = self._loads.get(sites[0], 0)
        if loads >= MOST_AT_A_PLACE or len(self._loads) >= MOST_PLACES:
            return
        self._loads[sites[0]] = loads + 1
        own = _tensors_of(module)
        if not own or len(own) > SEARCHED:
            return
        given = {key: value for key, value in state.items() if isinstance(value, torch.Tensor)}
        memory = {storage_key(one) for one in own.values() if one.numel()} - {None}
        self._write(
            StateLoaded(
                step=self._step(),
                kind=type(module).__name__,
                given=len(given),
                wanted=len(own),
                fits=sum(n in given and given[n].shape == one.shape for n, one in own.items()),
                strict=bool(variables.get("strict", True)),
                own=sum(storage_key(one) in memory for one in given.values()),
                written_since=self._handed_out.get(module) != _writes(module),
                given_names=list(given)[:MOST_NAMES],
                wanted_names=list(own)[:MOST_NAMES],
                read=read,
                within=_entry_that_fits(state, own),
                trained=self._is_trained(module),
                location=span_of(sites[0]),
            )
        )

    def _is_trained(self, module: nn.Module) -> bool:
        held = {id(one) for watched in self._optimizers.all() for one in watched.parameters()}
        return any(id(one) in held for one in module.parameters())


def _tensors_of(module: nn.Module) -> dict[str, torch.Tensor]:
    """Return the tensors that a module loads, by name."""
    every = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    return {name: one for name, one in every.items() if not nn.parameter.is_lazy(one)}


def _entry_that_fits(state: Mapping[str, Any], own: Mapping[str, torch.Tensor]) -> str | None:
    """Return the entry of a checkpoint that holds tensors of a module, if the checkpoint itself holds none."""
    for key, value in state.items():
        inner = value if isinstance(value, Mapping) else {}
        if any(name in inner and _is_like(inner[name], one) for name, one in own.items()):
            return key
    return None


def _is_like(value: Any, own: torch.Tensor) -> bool:
    return isinstance(value, torch.Tensor) and value.shape == own.shape


def _writes(module: nn.Module) -> int:
    """Return how often the tensors of a module were changed in place."""
    return sum(version_of(one) for one in _tensors_of(module).values())
