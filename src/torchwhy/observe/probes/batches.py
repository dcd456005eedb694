"""Keeps the batches handed out since the last step, so that the failing step can be given them again."""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import torch

from torchwhy.observe.descriptors import Descriptors, index_note
from torchwhy.observe.guest import Guests
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.native.records import BatchesRecord, BatchRecord
from torchwhy.observe.program.frames import Site, user_sites
from torchwhy.observe.steps.random_state import RandomState
from torchwhy.observe.torch_features.loader_parts import (
    COUNTED,
    HANDED_OUT,
    SAMPLED,
    dataset_of,
    fetches_by_itself,
    loader_iterator_class,
    sampler_of,
    workers_of,
)
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import version_of

NEEDS = ("loader-iterator",)
MOST_BATCHES = (
    16  # batches kept for one step; with more micro-batches than this the step is rerun instead
)
FIRST_BATCHES = 8  # of a loader that the first step may consist of
MOST_BYTES = 2**29  # of all batches kept together; the newest one is always kept
MOST_LEAVES = 16  # tensors of one batch that are described


class Batch(BatchRecord):
    """One batch as the loader handed it out, with what is needed to hand it out again."""

    def __init__(
        self,
        serial: int,
        iterator: weakref.ref[Any],
        *,
        data: Any,
        drawn_indices: Any,
        random_state: torch.Tensor,
        sites: tuple[Site, ...],
        trains: bool,
        size: int,
        versions: list[int],
    ) -> None:
        self.serial = serial
        self.iterator = iterator
        self.data = data
        self.drawn_indices = drawn_indices
        self.random_state = random_state
        self.sites = sites
        self.trains = trains
        self.size = size
        self.versions = versions

    @property
    def indices(self) -> list[int] | None:
        """Return the indices of its samples in the dataset, where the sampler gives numbers."""
        return _as_indices(self.drawn_indices)

    def untouched(self) -> bool:
        """Tell whether no tensor of it was changed in place since it was handed out."""
        return self.versions == [version_of(leaf) for _, leaf in leaves_of(self.data)]


@dataclass(frozen=True)
class Origin:
    """The loader that batches come from, as far as its iterator knows it; told after both may be gone."""

    batch_size: int | None
    drop_last: bool | None
    workers: int
    dataset: weakref.ref[Any] | None

    @classmethod
    def of(cls, iterator: Any) -> Origin:
        """Read it off an iterator."""
        sampler, dataset = sampler_of(iterator), dataset_of(iterator)
        try:
            reference = weakref.ref(dataset) if dataset is not None else None
        except TypeError:
            reference = None
        return cls(
            batch_size=getattr(sampler, "batch_size", None),
            drop_last=getattr(sampler, "drop_last", None),
            workers=workers_of(iterator),
            dataset=reference,
        )


class BatchKeeper(BatchesRecord):
    """Watches DataLoader iterators by two attributes they set: no frame of ours, no copy of the data."""

    def __init__(self) -> None:
        self.recent: deque[Batch] = deque(maxlen=MOST_BATCHES)
        self.drawn = 0
        self.serial = 0  # of the newest batch drawn for training
        self.origin: Origin | None = None  # the loader of the loop in hand
        self.usual: list[str] = []  # the shapes of the first batch of the loop in hand
        self.look_from: float = math.inf  # the batch from which on somebody wants to be told
        self.when_drawn: Callable[[int], float | None] | None = None
        # While the first step is looked at: called around the work of a loader that is all torch's own.
        self.on_fetch: Callable[[], object] | None = None
        self.on_fetched: Callable[[], object] | None = None
        self.shapes: list[
            Any
        ] = []  # of the newest batch's tensors; the same object as long as they stay the same
        self._size = 0
        self._sites: tuple[Site, ...] = ()  # where the program asks for batches
        self._versions: list[int] = []  # of a batch's tensors when it is handed out
        self._random = RandomState()
        self._index_note = index_note
        self._indices: weakref.WeakKeyDictionary[Any, deque[Any]] = weakref.WeakKeyDictionary()
        # How many batches had been drawn for training when each dataset came into use.
        self._first_drawn: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._following: weakref.ref[Any] | None = None  # the iterator that gave the last batch
        self._seen: deque[Any] | None = None  # the indices it has drawn and not handed out

    def install(self, hooks: Hooks, guests: Guests, descriptors: Descriptors) -> None:
        """Watch every iterator made from now on."""
        self._index_note = descriptors.index_note
        iterators = loader_iterator_class()
        keep = guests.lightly("batch probe", self._keep)
        follow = guests.protect("sampler probe", self._follow)

        def counted(iterator: Any, value: Any, frame: Any) -> Any:
            if (
                value and frame.f_code.co_name == "__next__"
            ):  # else a loader's state is being restored
                keep(iterator, frame)
            return value

        def sampled(iterator: Any, value: Any, _: Any) -> Any:
            followed = follow(iterator, value)
            return value if followed is None else followed

        for name, change in ((COUNTED, counted), (SAMPLED, sampled)):
            hooks.replace(iterators, name, descriptors.assigned(name, change))

    @property
    def length(self) -> int | None:
        """Return how many batches a pass over the data in hand has; asks the dataset, so not for every step."""
        origin = self.origin
        dataset = origin.dataset() if origin is not None and origin.dataset is not None else None
        if (
            origin is None
            or dataset is None
            or not origin.batch_size
            or not hasattr(dataset, "__len__")
        ):
            return None
        full, rest = divmod(len(dataset), origin.batch_size)
        return full + bool(rest and not origin.drop_last)

    def since(self, serial: int) -> list[Batch]:
        """Return the batches drawn for training after number `serial`; empty when some were already forgotten."""
        found = [batch for batch in self.recent if batch.serial > serial and batch.trains]
        return found if len(found) == self.serial - serial else []

    def forget_before(self, serial: int) -> None:
        """Let go of the batches up to number `serial`."""
        while self.recent and self.recent[0].serial <= serial:
            self.recent.popleft()

    def next_indices(self, iterator: Any) -> list[int]:
        """Return the dataset's indices of the batch that an iterator was about to hand out."""
        seen = self._indices.get(iterator)
        return (_as_indices(seen[0]) or []) if seen else []

    def _follow(self, iterator: Any, sampler: Iterator[Any] | None) -> Iterator[Any] | None:
        """Return the sampler's iterator with every index it gives noted on the way."""
        if sampler is None:
            return None
        seen: deque[Any] = deque(maxlen=1024)
        self._indices[iterator] = seen
        self._following = None
        # C iterators: if the sampler raises, its traceback does not show us.
        noted = map(self._index_note(seen.append), sampler)
        if self.on_fetch is None or not fetches_by_itself(iterator):
            return noted
        return chain(map(self._fetches, islice(noted, FIRST_BATCHES)), noted)

    def _fetches(self, index: Any) -> Any:
        """Tell that torch is about to fetch samples, with no code of the program on the way."""
        if self.on_fetch is not None:
            self.on_fetch()
        return index

    def _keep(self, iterator: Any, frame: Any) -> None:
        """Keep one batch; runs for every batch, so it asks as little as it can.

        What hardly ever differs between two batches of one loader is asked when a loader is taken in hand, or when
        shapes change: where the program asks for batches, and how often their tensors were written to till then.
        """
        data = frame.f_locals.get(HANDED_OUT)
        following = self._following
        if following is None or following() is not iterator:
            following = self._begin_with(iterator, frame, data)
        trains = torch.is_grad_enabled()
        self.drawn += 1
        self.serial += trains
        shapes = [leaf.shape for leaf in data] if _are_tensors(data) else _shapes_in(data)
        if shapes != self.shapes:
            self._new_shapes(shapes, data)
        recent = self.recent
        if recent and not recent[-1].trains:
            recent.pop()  # evaluation repeats nothing: of its batches only the current one is of interest
        recent.append(
            Batch(
                self.serial,
                following,
                data=data,
                drawn_indices=self._seen.popleft() if self._seen else None,
                random_state=self._random.take(),
                sites=self._sites,
                trains=trains,
                size=self._size,
                versions=self._versions,
            )
        )
        if self.on_fetched is not None:
            self.on_fetched()
        if self._size * len(recent) > MOST_BYTES:
            self._keep_to_the_limit()
        if self.drawn >= self.look_from and self.when_drawn is not None:
            self.look_from = self.when_drawn(self.drawn) or math.inf

    def _begin_with(self, iterator: Any, frame: Any, data: Any) -> weakref.ref[Any]:
        """Take another loader in hand, or the same one in its next epoch."""
        self._following = weakref.ref(iterator)
        self._seen = self._indices.get(iterator)
        self.usual, self.origin = unseen(described)(data), Origin.of(iterator)
        self._note_dataset(self.origin.dataset)
        self._sites = user_sites(frame.f_back, limit=1)
        self._versions = _versions(data)
        self._random.expect_change()
        return self._following

    def _note_dataset(self, reference: weakref.ref[Any] | None) -> None:
        """Remember since when a dataset is in use; by its identity, for its own `__eq__` is none of ours."""
        dataset = reference() if reference is not None else None
        if reference is None or dataset is None:
            return
        known = self._first_drawn.get(id(dataset))
        if known is None or known[0]() is not dataset:
            living = {key: one for key, one in self._first_drawn.items() if one[0]() is not None}
            self._first_drawn = {**living, id(dataset): (reference, self.serial)}

    def drawn_before(self, batch: Batch) -> int:
        """Return how many batches had been drawn for training when the dataset of this one came into use."""
        dataset = dataset_of(batch.iterator())
        known = self._first_drawn.get(id(dataset))
        return known[1] if known is not None and known[0]() is dataset else 0

    @unseen
    def _new_shapes(self, shapes: list[Any], data: Any) -> None:
        leaves = [leaf for _, leaf in leaves_of(data)]
        self.shapes = shapes
        self._versions = _versions(data)
        self._size = sum(
            leaf.numel() * leaf.element_size() for leaf in leaves if leaf.layout is torch.strided
        )

    def _keep_to_the_limit(self) -> None:
        while len(self.recent) > 1 and sum(kept.size for kept in self.recent) > MOST_BYTES:
            self.recent.popleft()


def _are_tensors(data: Any) -> bool:
    """Tell whether a batch is what most loaders make of a dataset of tensors: a list of plain ones."""
    if type(data) is not list or len(data) > MOST_LEAVES:
        return False
    for item in data:  # noqa: SIM110 - a generator costs as much again, and this runs for every batch
        if type(item) is not torch.Tensor:
            return False
    return True


@unseen
def _shapes_in(data: Any) -> list[Any]:
    return [leaf.shape for _, leaf in leaves_of(data)]


@unseen
def _versions(data: Any) -> list[int]:
    return [version_of(leaf) for _, leaf in leaves_of(data)]


def _as_indices(indices: Any) -> list[int] | None:
    if isinstance(indices, int):
        return [indices]
    if isinstance(indices, (list, tuple)) and all(isinstance(i, int) for i in indices):
        return list(indices)
    return None


def leaves_of(data: Any, path: str = "batch") -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors of a batch with their path in it: `batch[0]`, `batch['image']`."""
    if isinstance(data, torch.Tensor):
        yield path, data
    elif isinstance(data, Mapping):
        for key, value in list(data.items())[:MOST_LEAVES]:
            yield from leaves_of(value, f"{path}[{key!r}]")
    elif isinstance(data, tuple) and hasattr(data, "_fields"):
        for name in data._fields:
            yield from leaves_of(getattr(data, name), f"{path}.{name}")
    elif isinstance(data, (list, tuple)):
        for position, value in enumerate(data[:MOST_LEAVES]):
            yield from leaves_of(value, f"{path}[{position}]")


def described(data: Any) -> list[str]:
    """Return the shapes of a batch: `batch[0] float32[32, 10]`."""
    return [
        f"{path} {str(leaf.dtype).removeprefix('torch.')}{list(leaf.shape)}"
        for path, leaf in leaves_of(data)
    ]
