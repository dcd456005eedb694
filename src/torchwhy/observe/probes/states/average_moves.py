"""Measures how a copy of a trained model moves between two steps: an average takes a share of the way to the model."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FrameType

import torch

from torchwhy.observe.optimizers.watched_optimizers import WatchedOptimizer, WatchedOptimizers
from torchwhy.observe.probes.states.copy_writers import CopyWriters
from torchwhy.observe.probes.states.weight_copies import WeightCopy, copies_in
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.program.names import Names
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import has_values, local_part, version_of
from torchwhy.plain_data import dataclass
from torchwhy.record.events import Event
from torchwhy.record.kept.kept_state import AverageMoved
from torchwhy.record.numbers import encode

# Steps of an optimizer between which copies are compared: all of them take the thorough way. An average that warms up
# takes most of the way at its first updates.
LOOKS = (3, 11, 19)
MOST_TENSORS = 8
MOST_ELEMENTS = 4096
MOST_COPIES = 8
TOO_CLOSE = (
    1e-6  # distance between copy and model, relative to their size: rounding hides a share of it
)


@dataclass
class _Kept:
    copy: torch.Tensor
    model: torch.Tensor
    writes: int
    identities: tuple[int, ...]
    memories: tuple[int, ...]


class AverageMoves:
    """Looks three times, each time before a step and before the next one."""

    def __init__(
        self,
        write: Callable[[Event], None],
        names: Names,
        optimizers: WatchedOptimizers,
        writers: CopyWriters,
    ) -> None:
        self._write = write
        self._writers = writers
        self._names = names
        self._optimizers = optimizers
        self._kept: dict[tuple[str, str], _Kept] = {}
        self._watched = -1

    @unseen
    def before_step(self, watched: WatchedOptimizer, step: int) -> None:
        """Keep the copies before one step, and compare before the next."""
        if self._kept and watched.index == self._watched:
            self._compare(step)
        if watched.steps in LOOKS and not self._kept:
            self._watched = watched.index
            copies = self._copies()[:MOST_COPIES]
            self._kept = {(one.name, one.model): _keep(one) for one in copies}
            if copies:
                self._writers.watch({one.name: [a for a, _ in one.pairs] for one in copies})

    def _copies(self) -> list[WeightCopy]:
        held = {id(p) for one in self._optimizers.all() for p in one.parameters()}
        frame: FrameType | None = frame_at(1)
        return [one for one in copies_in(self._names, held, frame) if _has_numbers(one)]

    def _compare(self, step: int) -> None:
        kept, self._kept = self._kept, {}
        sites = self._writers.end()
        found: dict[str, AverageMoved] = {}
        for one in self._copies():
            before = kept.get((one.name, one.model))
            if before is None:
                continue
            event = _moved(one, before, step, sites.get(one.name))
            # Of several models of the same sizes, the one that explains how the copy moved is the one it follows.
            if event is not None and (
                one.name not in found or float(event.error) < float(found[one.name].error)
            ):
                found[one.name] = event
        for event in found.values():
            self._write(event)


def _has_numbers(copy: WeightCopy) -> bool:
    return all(
        one.is_floating_point() and one.layout is torch.strided and has_values(one)
        for pair in copy.pairs
        for one in pair
    )


def _keep(copy: WeightCopy) -> _Kept:
    return _Kept(
        _elements([a for a, _ in copy.pairs]),
        _elements([b for _, b in copy.pairs]),
        sum(version_of(a) for a, _ in copy.pairs),
        tuple(id(a) for a, _ in copy.pairs),
        tuple(a.data_ptr() for a, _ in copy.pairs),
    )


def _elements(tensors: list[torch.Tensor]) -> torch.Tensor:
    chosen = tensors[:: max(1, len(tensors) // MOST_TENSORS)][:MOST_TENSORS]
    parts = [
        local_part(one).detach().reshape(-1)[:MOST_ELEMENTS].to("cpu", torch.float64)
        for one in chosen
    ]
    return torch.cat(parts)


def _moved(copy: WeightCopy, before: _Kept, step: int, site: Site | None) -> AverageMoved | None:
    now = _keep(copy)
    if now.copy.shape != before.copy.shape:
        return None
    writes = now.writes - before.writes
    if now.identities != before.identities:  # new tensors took the place of the old ones
        writes = max(1, len(now.identities))
    if site is not None:  # torch does not count writes to `.data`
        writes = max(1, writes)
    went = now.copy - before.copy
    changed = bool(went.any().item())
    scale, share, error = 1.0, 0.0, 0.0
    if changed:
        fits = [_fit(before.copy, model, now.copy) for model in (now.model, before.model)]
        scale, share, error = min(fits, key=lambda one: one[2])
    size = float(before.copy.norm().item()) or 1.0
    return AverageMoved(
        step=step,
        copy=copy.name,
        model=copy.model,
        tensors=len(copy.pairs),
        writes=writes,
        changed=changed,
        scale=encode(scale),
        share=encode(share),
        error=encode(error),
        distance=encode(float((now.model - before.copy).norm().item()) / size),
        model_moved=bool((now.model != before.model).any().item()),
        is_module=copy.is_module,
        rebound=all(a != b for a, b in zip(now.memories, before.memories, strict=True)),
        location=span_of(site) if site is not None else None,
    )


def _fit(
    copy: torch.Tensor, model: torch.Tensor, result: torch.Tensor
) -> tuple[float, float, float]:
    """Return `scale`, `share` and relative error of `result = scale * copy + share * (model - copy)`."""
    way = model - copy
    size, length = float(copy.norm().item()), float(way.norm().item())
    went = float((result - copy).norm().item())
    if not all(map(math.isfinite, (size, length, went))):
        return 1.0, 0.0, math.inf
    if length <= TOO_CLOSE * size or not size or not went:
        return 1.0, 0.0, math.inf
    # The normal equations of two unit vectors: a solver of a library may print to the program's output.
    first, second = copy / size, way / length
    cosine = float(first.dot(second).item())
    along_first, along_second = float(first.dot(result).item()), float(second.dot(result).item())
    independent = 1.0 - cosine * cosine
    if independent <= TOO_CLOSE:
        return 1.0, 0.0, math.inf
    scale = (along_first - cosine * along_second) / independent
    share = (along_second - cosine * along_first) / independent
    left = float((result - scale * first - share * second).norm().item())
    return scale / size, share / length, left / went
