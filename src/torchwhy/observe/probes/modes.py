"""In which mode (train or eval, with or without gradients) the outermost models run, counted per combination."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from torchwhy.observe.frames import layer_of, span_of, user_sites
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.probes.access import NotedOnAccess
from torchwhy.record.events import Event
from torchwhy.record.learning import ForwardModes
from torchwhy.finding import SourceSpan

GROUP = "modes"
MODE_LAYERS = (nn.modules.dropout._DropoutNd, nn.modules.batchnorm._NormBase)


@dataclass
class _Tally:
    path: str
    layers: list[str]
    location: SourceSpan | None
    first_step: int
    last_step: int = 0
    count: int = 0
    backwards: int = 0
    told: int = 0


@dataclass
class ModeCounter:
    """Counts forwards of watched models; two dictionary look-ups per forward of a model, none per layer."""

    write: Callable[[Event], None]
    step: Callable[[], int]
    _tallies: dict[tuple[int, bool, bool], _Tally] = field(default_factory=dict)
    _models: dict[int, str] = field(default_factory=dict)
    _classes: set[type] = field(default_factory=set)
    _last: list[_Tally] = field(default_factory=list)

    def watch(self, hooks: Hooks, path: str, model: nn.Module) -> None:
        """Count the forwards of one model from now on."""
        self._models[id(model)] = path
        kind = type(model)
        holder = next((base for base in kind.__mro__ if "forward" in vars(base)), None)
        if holder is None or holder in self._classes:
            return
        self._classes.add(holder)
        hooks.replace(holder, "forward", NotedOnAccess(vars(holder)["forward"], self._noted), group=GROUP)

    def backward_ran(self) -> None:
        """Give the forwards since the last backward the credit for it."""
        for tally in self._last:
            tally.backwards += 1
        self._last.clear()

    def tell(self) -> None:
        """Write every combination whose count changed since it was last told."""
        for (_, training, grad), tally in self._tallies.items():
            if tally.count != tally.told:
                tally.told = tally.count
                self.write(
                    ForwardModes(
                        step=self.step(),
                        path=tally.path,
                        training=training,
                        grad=grad,
                        count=tally.count,
                        backwards=tally.backwards,
                        first_step=tally.first_step,
                        last_step=tally.last_step,
                        mode_layers=tally.layers,
                        location=tally.location,
                    )
                )

    def _noted(self, model: Any) -> None:
        path = self._models.get(id(model))
        if path is None:
            return
        key = (id(model), bool(model.training), torch.is_grad_enabled())
        tally = self._tallies.get(key)
        step = self.step()
        if tally is None:
            tally = self._tallies[key] = _Tally(path, mode_layers(model), _caller(), step)
        tally.count += 1
        tally.last_step = step
        if key[2] and len(self._last) < 8:
            self._last.append(tally)


def mode_layers(model: nn.Module) -> list[str]:
    """Return the layers of a model that behave differently in training and evaluation, with their state."""
    found = []
    for name, part in model.named_modules():
        if isinstance(part, nn.modules.dropout._DropoutNd) and part.p > 0:
            found.append(f"{name} Dropout(p={part.p:g}) {'train' if part.training else 'eval'}")
        elif isinstance(part, nn.modules.batchnorm._NormBase) and part.track_running_stats:
            found.append(f"{name} {type(part).__name__} {'train' if part.training else 'eval'}")
    return found[:16]


def _caller() -> SourceSpan | None:
    frame = sys._getframe(2)
    while frame is not None and layer_of(frame.f_code.co_filename) == "torch":
        frame = frame.f_back  # type: ignore[assignment]
    sites = user_sites(frame, limit=1)
    return span_of(sites[0]) if sites else None
