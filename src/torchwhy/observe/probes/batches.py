"""Keeps the batches drawn since the last step, so that a failing step can get them again."""

from __future__ import annotations

import inspect
import math
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

import torch

from torchwhy.observe.descriptors import Descriptors, index_note
from torchwhy.observe.devices.generator_states import GeneratorStates
from torchwhy.observe.guest import Guests
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.native.records import BatchesRecord, BatchRecord
from torchwhy.observe.probes.loaders.loader_log import LoaderLog
from torchwhy.observe.probes.released_batches import ReleasedBatch, as_indices, tensors_of
from torchwhy.observe.program.frames import Site, user_sites
from torchwhy.observe.program.weak_table import WeakTable
from torchwhy.observe.steps.random_state import RandomState
from torchwhy.observe.torch_features.compiler import uncompiled
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
from torchwhy.plain_data import dataclass

NEEDS = ("loader-iterator",)
MOST_BATCHES = (
    16  # batches kept for one step; with more micro-batches than this the step is rerun instead
)
FIRST_BATCHES = 8  # of a loader that the first step may consist of
MOST_BYTES = 2**29  # of all batches kept together; the newest one is always kept
MOST_LEAVES = 16  # tensors of one batch that are described
MOST_RELEASED = 64  # batches remembered by weak references, for loaders that fetch ahead


class Batch(BatchRecord):
    """One batch as the loader gave it, with what is needed to give it again.

    Its tensors are aliases of the program's: these die when the program lets go of them, only their memory stays.
    `originals` refers to them weakly.
    """

    def __init__(
        self,
        serial: int,
        iterator: weakref.ref[Any],
        *,
        data: Any,
        originals: list[weakref.ref[torch.Tensor]],
        drawn_indices: Any,
        random_state: GeneratorStates,
        sites: tuple[Site, ...],
        trains: bool,
        size: int,
        versions: list[int],
    ) -> None:
        self.serial = serial
        self.iterator = iterator
        self.data = data
        self.originals = originals
        self.drawn_indices = drawn_indices
        self.random_state = random_state
        self.sites = sites
        self.trains = trains
        self.size = size
        self.versions = versions

    @property
    def indices(self) -> list[int] | None:
        """Return the indices of its samples in the dataset, if the sampler yields numbers."""
        return as_indices(self.drawn_indices)

    def leaves(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield all of its tensors with their path in it, also those that plain objects hold."""
        return tensors_of(self.data)

    def untouched(self) -> bool:
        """Tell whether no tensor of it was changed in place since the loader gave it."""
        return self.versions == [version_of(leaf) for _, leaf in leaves_of(self.data)]


@dataclass(frozen=True)
class Origin:
    """The loader that batches come from, as far as its iterator knows it; both may be gone later."""

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
    """Watches DataLoader iterators by two attributes they set: no frame of ours, no copy of the data.

    From batch `look_from` on it calls `when_drawn`, which returns the next batch to call it at.
    """

    def __init__(
        self,
        *,
        look_from: float = math.inf,
        when_drawn: Callable[[int], float | None] = lambda _: None,
        log: LoaderLog | None = None,
    ) -> None:
        self.log = log
        self.recent: deque[Batch] = deque(maxlen=MOST_BATCHES)
        self.released: deque[ReleasedBatch] = deque(maxlen=MOST_RELEASED)
        self.drawn = 0
        self.begun_at = 0  # how many were drawn when the current loop began, or went on
        self.serial = 0  # of the newest batch drawn for training
        self.origin: Origin | None = None  # the loader of the current loop
        self.asked_by_generator = False  # so that the newest batch may be one for later
        self.usual: list[str] = []  # the shapes of the first batch of the current loop
        self.look_from = look_from
        self._when_drawn = when_drawn
        # Called around fetching that runs only torch's own code, while the microscope is on.
        self.on_fetch: Callable[[], object] | None = None
        self.on_fetched: Callable[[], object] | None = None
        # Of the newest batch's tensors; the same object as long as they stay the same.
        self.shapes: list[Any] = []
        self._size = 0
        self._sites: tuple[Site, ...] = ()  # where the program asks for batches
        self._versions: list[int] = []  # of a batch's tensors when the loader gives it
        self._random = RandomState()
        self._index_note = index_note
        self._indices = WeakTable[deque[Any]]()
        # How many batches had been drawn for training when each dataset came into use.
        self._first_drawn: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._following: weakref.ref[Any] | None = None  # the iterator that gave the last batch
        self._seen: deque[Any] | None = None  # the indices it has drawn and not used yet

    def install(self, hooks: Hooks, guests: Guests, descriptors: Descriptors) -> None:
        """Watch every iterator made from now on."""
        self._index_note = descriptors.index_note
        iterators = loader_iterator_class()
        keep = guests.lightly("batch probe", self._keep)
        follow = guests.protect("sampler probe", self._follow)

        @uncompiled
        def counted(iterator: Any, value: Any, frame: Any) -> Any:
            if (
                value and frame.f_code.co_name == "__next__"
            ):  # else a loader's state is being restored
                keep(iterator, frame)
            return value

        @uncompiled
        def sampled(iterator: Any, value: Any, _: Any) -> Any:
            followed = follow(iterator, value)
            return value if followed is None else followed

        for name, change in ((COUNTED, counted), (SAMPLED, sampled)):
            hooks.replace_unseen(iterators, name, descriptors.assigned(name, change))

    @property
    def length(self) -> int | None:
        """Return the number of batches in an epoch; asks the dataset, so not at every step."""
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
        """Return the batches drawn for training after number `serial`; empty if some of them are gone."""
        found = [batch for batch in self.recent if batch.serial > serial and batch.trains]
        return found if len(found) == self.serial - serial else []

    def forget_before(self, serial: int) -> None:
        """Release the batches up to number `serial`; a loader that fetches ahead gave them too early."""
        while self.recent and self.recent[0].serial <= serial:
            batch = self.recent.popleft()
            # The aliases have the structure of the batch that they stand for.
            paths = [path for path, _ in batch.leaves()]
            leaves = list(zip(paths, batch.originals, strict=True))
            self.released.append(
                ReleasedBatch(
                    batch.serial, batch.iterator, batch.drawn_indices, leaves, batch.sites
                )
            )

    def all_known(self) -> list[Batch | ReleasedBatch]:
        """Return the batches that are known, also those released, oldest first."""
        return [*self.released, *self.recent]

    def next_indices(self, iterator: Any) -> list[int]:
        """Return the dataset's indices of the batch that an iterator was about to hand out."""
        seen = self._indices.get(iterator)
        return (as_indices(seen[0]) or []) if seen else []

    def _follow(self, iterator: Any, sampler: Iterator[Any] | None) -> Iterator[Any] | None:
        """Return the sampler's iterator, with a note of every index it gives."""
        if sampler is None:
            return None
        seen: deque[Any] = deque(maxlen=1024)
        self._indices[iterator] = seen
        self._following = None
        if self.log is not None:
            sampler = self.log.tap(iterator, sampler, self._index_note) or sampler
        # C iterators: if the sampler raises, its traceback does not show us.
        noted = map(self._index_note(seen.append), sampler)
        if self.on_fetch is None or not fetches_by_itself(iterator):
            return noted
        return chain(map(self._fetches, islice(noted, FIRST_BATCHES)), noted)

    def _fetches(self, index: Any) -> Any:
        """Announce that torch is about to fetch samples without running any code of the program."""
        if self.on_fetch is not None:
            self.on_fetch()
        return index

    def _keep(self, iterator: Any, frame: Any) -> None:
        """Keep one batch; runs for every batch, so it does as little as it can.

        Facts that rarely differ between two batches of one loader are taken when a loader starts or shapes change:
        where the program draws batches, and the versions of their tensors.
        """
        data = frame.f_locals.get(HANDED_OUT)
        following = self._following
        if following is None or following() is not iterator:
            following = self._begin_with(iterator, frame, data)
        elif self.log is not None and self.log.wants:
            self.log.look(data)
        trains = torch.is_grad_enabled()
        self.drawn += 1
        self.serial += trains
        shapes = [leaf.shape for leaf in data] if _are_tensors(data) else _shapes_in(data)
        if shapes != self.shapes:
            self._new_shapes(shapes, data)
        recent = self.recent
        if recent and not recent[-1].trains:
            recent.pop()  # no step of evaluation is repeated, so only its current batch is kept
        recent.append(
            Batch(
                self.serial,
                following,
                data=aliases_of(data),
                originals=[weakref.ref(leaf) for _, leaf in tensors_of(data)],
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
        if self.drawn >= self.look_from:
            self.look_from = self._when_drawn(self.drawn) or math.inf

    def _begin_with(self, iterator: Any, frame: Any, data: Any) -> weakref.ref[Any]:
        """Start with another loader, or with the next epoch of the same one."""
        self._following = weakref.ref(iterator, self._release_evaluated)
        self._seen, self.begun_at = self._indices.get(iterator), self.drawn
        self.usual, self.origin = unseen(described)(data), Origin.of(iterator)
        self._note_dataset(self.origin.dataset)
        self._sites = user_sites(frame.f_back, limit=1)
        asking = frame.f_back
        self.asked_by_generator = bool(asking and asking.f_code.co_flags & inspect.CO_GENERATOR)
        self._versions = _versions(data)
        self._random.expect_change()
        if self.log is not None:
            self.log.begin(iterator, frame, data, self._seen[0] if self._seen else None)
        return self._following

    @uncompiled
    def _release_evaluated(self, iterator: weakref.ref[Any]) -> None:
        """Release the batch of an evaluation that is over: its loader's iterator is gone."""
        recent = self.recent
        if recent and not recent[-1].trains and recent[-1].iterator is iterator:
            recent.pop()

    def _note_dataset(self, reference: weakref.ref[Any] | None) -> None:
        """Remember since when a dataset is in use; by identity, because its own `__eq__` may do anything."""
        dataset = reference() if reference is not None else None
        if reference is None or dataset is None:
            return
        known = self._first_drawn.get(id(dataset))
        if known is None or known[0]() is not dataset:
            living = {key: one for key, one in self._first_drawn.items() if one[0]() is not None}
            self._first_drawn = {**living, id(dataset): (reference, self.serial)}

    def drawn_before(self, batch: Batch | ReleasedBatch) -> int:
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


@unseen
def aliases_of(data: Any) -> Any:
    """Return a batch of the same structure, whose plain tensors are others on the same memory.

    A tensor with a graph or with attributes of its own is itself in it, as is any object that is not a container.
    """
    if type(data) is torch.Tensor:
        is_bare = data.layout is torch.strided and not data.requires_grad and not vars(data)
        return data.detach() if is_bare else data
    if type(data) in (list, tuple):
        return type(data)(map(aliases_of, data))
    if type(data) is dict:
        return {key: aliases_of(value) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(aliases_of, data))
    return data


def _are_tensors(data: Any) -> bool:
    """Tell whether a batch is a list of plain tensors, as most loaders make it."""
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
