"""All parameters that are known at one moment, and who holds them: models, optimizers, modules that merely ran."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn

from torchwhy.observe.torch_features.module_parts import parameters_in

if TYPE_CHECKING:
    from torchwhy.observe.steps.watched_optimizers import WatchedOptimizer
    from torchwhy.replay.equipment import Stage

MOST_LOOSE = 50  # items of a plain list or dictionary that are looked at


class Part(NamedTuple):
    """A module, its path, and the model it belongs to."""

    module: nn.Module
    path: str
    model: str


@dataclass(frozen=True)
class Owners:
    """The parts of known models, the modules that ran and belong to none, and the optimizers."""

    parts: list[Part]
    unowned: list[nn.Module]
    optimizers: list[WatchedOptimizer]

    @cached_property
    def owners(self) -> dict[int, Part]:
        """Return the part that holds each parameter, by identity; of several the first."""
        return {
            id(parameter): part
            for part in reversed(self.parts)
            for parameter in parameters_in(part.module).values()
            if parameter is not None
        }

    @cached_property
    def held(self) -> set[int]:
        """Return the identities of what any optimizer holds."""
        return {id(p) for watched in self.optimizers for p in watched.parameters()}

    @cached_property
    def parameters(self) -> dict[int, torch.Tensor]:
        """Return every parameter by identity."""
        found = {id(p): p for watched in self.optimizers for p in watched.parameters()}
        found |= {id(p): p for _, p in self.registered()}
        return found | {id(p): p for module in self.unowned for p in module.parameters()}

    def registered(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Yield path and value of each parameter that belongs to a known model, as often as it is held."""
        for part in self.parts:
            for name, parameter in parameters_in(part.module).items():
                if parameter is not None:
                    yield f"{part.path}.{name}", parameter

    def loose(self) -> Iterator[tuple[str, str, nn.Parameter]]:
        """Yield path of the module, name and value of each parameter in a plain list or dictionary of a known model."""
        for module, path, _ in self.parts:
            for attribute, value in vars(module).items():
                if type(value) in (list, tuple, dict) and not attribute.startswith("_"):
                    items = value.items() if isinstance(value, dict) else enumerate(value)
                    yield from (
                        (path, f"{path}.{attribute}[{key!r}]", item)
                        for key, item in islice(items, MOST_LOOSE)
                        if isinstance(item, nn.Parameter)
                    )


def current_owners(stage: Stage) -> Owners:
    """Return who is there now."""
    parts = [
        Part(module, f"{name}.{local}" if local else name, name)
        for name, root in stage.session.names.roots()
        for local, module in root.named_modules()
    ]
    unowned = stage.modules.modules_outside({id(part.module) for part in parts})
    return Owners(parts, unowned, list(stage.session.sentinel.optimizers.all()))
