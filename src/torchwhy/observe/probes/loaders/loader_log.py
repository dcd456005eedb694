"""Follows every DataLoader: what its batches are for, which rows it draws, which values they have.

Nothing runs per batch of a cruising loop: indices are collected by C iterators, values are read from the first
batches of a loader and from the first batch of later passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any, Protocol

import torch
from torch.utils.data import DataLoader

from torchwhy.finding import LoopPosition
from torchwhy.observe.probes.loaders.drawn_rows import (
    MOST_PASSES,
    as_rows,
    base_of,
    describe_sampler,
    tapped,
)
from torchwhy.observe.probes.loaders.loop_position import (
    Running,
    Stretch,
    asking_site,
    position_in,
)
from torchwhy.observe.probes.loaders.repeated_rows import RepeatedRows
from torchwhy.observe.probes.loaders.row_copies import repeated_in_tensors
from torchwhy.observe.probes.loaders.seen_loader import (
    MOST_COMPARED,
    LoaderPass,
    SeenLoader,
    new_loader,
)
from torchwhy.observe.probes.loaders.shared_rows import shared_rows
from torchwhy.observe.probes.released_batches import tensors_of
from torchwhy.observe.program.frames import user_sites
from torchwhy.observe.program.names import borrowed_locals
from torchwhy.observe.program.weak_table import WeakTable
from torchwhy.observe.torch_features.loader_parts import (
    dataset_of,
    keeps_order,
    sampler_of,
    worker_start_of,
    workers_of,
    yielded_by,
)
from torchwhy.observe.torch_features.torch_internals import world_size
from torchwhy.record.events import Event
from torchwhy.source.files import layer_of

PROBE = "data probe"
MOST_LOADERS = 16  # followed in one run: folds and sweeps make many that are alike
MOST_BATCHES = 24  # of a loader whose labels are read
MOST_FRAMES = 8  # searched for the name of a dataset
MOST_PLACES = 4  # calls that led to a loop over a loader


class Position(Protocol):
    """Where the run is: optimizer steps so far."""

    step: int


class LoaderLog:
    """Knows the loaders of a run; `wants` is whether it would like to see the next batch, too."""

    def __init__(
        self,
        write: Callable[[Event], None],
        state: Position,
        protect: Callable[[str, Callable[..., Any]], Callable[..., Any]],
        *,
        keeps_datasets: bool = False,
    ) -> None:
        self._keeps = keeps_datasets
        self._write = write
        self._state = state
        # For a keeper of batches: what to call when a pass takes its sampler, begins, and goes on.
        self.tap = protect(PROBE, self._tap)
        self.begin = protect(PROBE, self._begins)
        self.look = protect(PROBE, self._look)
        self.loaders: list[SeenLoader] = []
        self._known = WeakTable[
            SeenLoader
        ]()  # by the sampler of batches, which an epoch shares with the next
        self._bases = WeakTable[int]()
        self._count_of_bases = 0
        self._passes = WeakTable[tuple[SeenLoader, LoaderPass]]()
        self._open: list[tuple[SeenLoader, LoaderPass]] = []
        self._current: tuple[SeenLoader, LoaderPass] | None = None
        self.stretch: Stretch | None = None  # to which the newest batch belongs
        self._taps = WeakTable[list[Any]]()
        self._trained: int | None = None
        self._repeated = RepeatedRows()
        self.wants = False

    def _tap(self, iterator: Any, sampler: Iterator[Any], note_of: Callable[..., Any]) -> Any:
        """Return the sampler's iterator, which collects its first indices for us."""
        known = self._known.get(sampler_of(iterator))
        if known is None and len(self.loaders) >= MOST_LOADERS:
            return sampler
        if known is not None and known.passes >= MOST_PASSES:
            return sampler
        noted: list[Any] = []
        self._taps[iterator] = noted
        size = getattr(sampler_of(iterator), "batch_size", None)
        size = size if isinstance(size, int) and size > 0 else None
        return tapped(sampler, note_of(noted.append), batch_size=size)

    def _begins(self, iterator: Any, frame: FrameType, data: Any, index: Any) -> None:
        """Note the first batch of a pass, or of a pass that goes on after another loader's batch."""
        now = self._state.step
        if self._current is not None:
            self._current[1].last_step = now
        self._current = self._passes.get(iterator)
        if self._current is not None:
            self._current[1].last_step = now
        else:
            self._current = self._begin(iterator, frame, now)
            if self._current is not None:
                self._first_batch(self._current[0], iterator, data, index)
        self.stretch = self._stretch(iterator, frame)
        self.wants = self._current is not None and self._current[0].passes == 1

    def _stretch(self, iterator: Any, frame: FrameType) -> Stretch | None:
        site = asking_site(frame.f_back)
        if self._current is None or site is None:
            return None
        loader, one = self._current
        return Stretch(
            loader, site, yielded_by(iterator), loader.trained_passes, first_step=one.first_step
        )

    def position(self, frames: Iterable[Running], *, given: int) -> LoopPosition | None:
        """Return the epoch and the batch that frames are in, innermost first; None if these are not certain."""
        stretch = self.stretch
        if stretch is None:
            return None
        return position_in(frames, stretch, given=given, seen_of=self._seen_of)

    def _seen_of(self, loader: Any) -> SeenLoader | None:
        own = vars(loader)
        known = self._known.get(own.get("batch_sampler"))
        return known if known is not None else self._known.get(own.get("sampler"))

    def _look(self, data: Any) -> None:
        """Look at one more batch of the first pass."""
        loader = self._current[0] if self._current is not None else None
        if loader is None:
            self.wants = False
            return
        surveys = not loader.by_torch and loader.surveyed < MOST_BATCHES
        compares = bool(loader.contents) and len(loader.contents) < MOST_COMPARED
        self.wants = surveys or compares
        leaves = list(tensors_of(data)) if self.wants else []
        if surveys:
            loader.survey_batch(leaves)
        if compares:
            loader.note_content(leaves)

    def tell(self) -> None:
        """Write what is known of every loader."""
        if self._current is not None:
            self._current[1].last_step = self._state.step
        for loader, one in self._open:
            loader.settle(one)
        self._open = []
        if not self._state.step:
            return
        for loader in self.loaders:
            self._write(loader.described())
        for event in (
            *shared_rows(self.loaders),
            *self._repeated.events(self.loaders),
            *repeated_in_tensors(self.loaders),
        ):
            self._write(event)

    def _begin(
        self, iterator: Any, frame: FrameType, now: int
    ) -> tuple[SeenLoader, LoaderPass] | None:
        loader = self._loader_of(iterator, frame)
        if loader is None:
            return None
        self._close_finished(loader)
        loader.passes += 1
        one = LoaderPass(
            without_grad=not torch.is_grad_enabled(),
            first_step=now,
            last_step=now,
            noted=self._taps.get(iterator) or [],
            after=self._last_trained(),
        )
        self._passes[iterator] = (loader, one)
        self._open.append((loader, one))
        return loader, one

    def _last_trained(self) -> int | None:
        """Return the loader that trained last."""
        for loader, one in reversed(self._open):
            if one.trains:
                self._trained = loader.number
                break
        return self._trained

    def _close_finished(self, loader: SeenLoader) -> None:
        """Settle the earlier passes of a loader that begins another one."""
        for known, one in self._open:
            if known is loader:
                loader.settle(one)
        self._open = [(known, one) for known, one in self._open if known is not loader]

    def _loader_of(self, iterator: Any, frame: FrameType) -> SeenLoader | None:
        batches, dataset = sampler_of(iterator), dataset_of(iterator)
        known = self._known.get(batches)
        if known is not None or dataset is None or batches is None:
            return known
        if len(self.loaders) >= MOST_LOADERS:
            return None
        datasets, variables = _variables(dataset, batches, frame)
        loader = new_loader(
            len(self.loaders),
            iterator,
            dataset,
            workers=workers_of(iterator),
            sampler=describe_sampler(iterator),
            base=self._base_number(dataset),
            name=datasets[0] if datasets else None,
            variables=variables,
            sites=user_sites(frame.f_back, limit=MOST_PLACES),
        )
        try:
            self._known[batches] = loader
        except TypeError:  # a list of batches
            return None
        self.loaders.append(loader)
        if self._keeps:
            loader.kept, loader.worker_start = dataset, worker_start_of(iterator)
        if loader.by_torch:
            loader.survey_tensors(dataset)
        return loader

    def _base_number(self, dataset: Any) -> int | None:
        base, _ = base_of(dataset)
        number = self._bases.get(base)
        if number is None:
            try:
                self._bases[base] = number = self._count_of_bases
            except TypeError:
                return None
            self._count_of_bases += 1
        return number

    def _first_batch(self, loader: SeenLoader, iterator: Any, data: Any, index: Any) -> None:
        leaves = list(tensors_of(data))
        if loader.passes == 1 and world_size() > 1:
            loader.note_content(leaves)
        if not loader.by_torch and loader.surveyed < MOST_BATCHES and loader.passes == 1:
            loader.survey_batch(leaves)
        rows = as_rows([index]) if index is not None else None
        if rows is not None and not loader.by_torch and keeps_order(iterator):
            self._repeated.look(loader, rows.tolist(), leaves, step=self._state.step)


def _variables(dataset: Any, batches: Any, frame: FrameType | None) -> tuple[list[str], list[str]]:
    """Return the variables that hold a dataset, and those that hold its loader, from the innermost frame outwards."""
    datasets: list[str] = []
    loaders: list[str] = []
    for _ in range(MOST_FRAMES):
        if frame is None:
            break
        if layer_of(frame.f_code.co_filename) == "user":
            for variables in (borrowed_locals(frame), frame.f_globals):
                for name, value in list(variables.items()):
                    if value is dataset and not name.startswith("_"):
                        datasets.append(name)
                    elif issubclass(type(value), DataLoader) and _draws(value, batches):
                        loaders.append(name)
        frame = frame.f_back
    return datasets, list(dict.fromkeys(loaders))


def _draws(loader: Any, batches: Any) -> bool:
    """Tell whether a loader draws its indices from a sampler."""
    own = vars(loader)
    return own.get("batch_sampler") is batches or own.get("sampler") is batches
