"""All parameters known at one moment, and what holds them: models, optimizers, modules without a known model."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import torch
from torch import nn

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer, WatchedOptimizers
from torchwhy.observe.program.names import Names
from torchwhy.observe.torch_features.module_parts import parameters_in
from torchwhy.plain_data import dataclass
from torchwhy.replay.microscope.module_stack import ModuleStack

MOST_LOOSE = 50  # items read of a plain list or dictionary


class Part(NamedTuple):
    """A module, its path, and the model it belongs to."""

    module: nn.Module
    path: str
    model: str


@dataclass(frozen=True)
class Owners:
    """The parts of known models, the modules that ran outside of them, and the optimizers."""

    parts: list[Part]
    unowned: list[nn.Module]
    optimizers: list[WatchedOptimizer]

    @cached_property
    def parts_by_parameter(self) -> dict[int, Part]:
        """Return the first part that holds each parameter, by the parameter's identity."""
        return {
            id(parameter): part
            for part in reversed(self.parts)
            for parameter in parameters_in(part.module).values()
            if parameter is not None
        }

    @cached_property
    def held(self) -> set[int]:
        """Return the identities of the parameters that any optimizer holds."""
        return {id(p) for watched in self.optimizers for p in watched.parameters()}

    @cached_property
    def parameters(self) -> dict[int, torch.Tensor]:
        """Return every parameter by identity."""
        found = {id(p): p for watched in self.optimizers for p in watched.parameters()}
        found |= {id(p): p for _, p in self.registered()}
        return found | {id(p): p for module in self.unowned for p in module.parameters()}

    def registered(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Yield path and value of each parameter of a known model, as often as the model holds it."""
        for part in self.parts:
            for name, parameter in parameters_in(part.module).items():
                if parameter is not None:
                    yield f"{part.path}.{name}", parameter

    def loose(self) -> Iterator[tuple[str, str, nn.Parameter]]:
        """Yield module path, name and value of each parameter in a plain list or dictionary of a known model."""
        for module, path, _ in self.parts:
            for attribute, value in vars(module).items():
                if type(value) in (list, tuple, dict) and not attribute.startswith("_"):
                    items = value.items() if isinstance(value, dict) else enumerate(value)
                    yield from (
                        (path, f"{path}.{attribute}[{key!r}]", item)
                        for key, item in islice(items, MOST_LOOSE)
                        if isinstance(item, nn.Parameter)
                    )


def current_owners(names: Names, modules: ModuleStack, optimizers: WatchedOptimizers) -> Owners:
    """Return what holds parameters now."""
    parts = [
        Part(module, f"{name}.{local}" if local else name, name)
        for name, root in names.roots()
        for local, module in root.named_modules()
    ]
    unowned = modules.modules_outside({id(part.module) for part in parts})
    return Owners(parts, unowned, list(optimizers.all()))
