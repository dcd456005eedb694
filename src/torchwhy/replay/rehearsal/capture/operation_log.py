"""What a capture keeps of the last backward passes: operations, slots, and which tensor is which."""

from __future__ import annotations

import weakref
from dataclasses import field
from typing import Any, NamedTuple

import torch

from torchwhy.observe.program.frames import Site
from torchwhy.observe.torch_features.tensor_parts import has_values, storage_key, version_of
from torchwhy.plain_data import dataclass
from torchwhy.replay.rehearsal.capture.captured_program import CapturedOperation, Ref

MOST_OPERATIONS = 20_000  # between two backward passes
MOST_BYTES = 512 * 2**20  # of the tensors that they hold
KEPT_PASSES = 2  # a generator's forward pass may serve the backward pass after the discriminator's


class CannotCapture(Exception):  # noqa: N818 - a reason, not a fault
    """A step that cannot be captured, and why."""


class LoggedSlot(NamedTuple):
    """A copy, where it was taken, and whether it stands for a value whose operations were not seen."""

    tensor: torch.Tensor
    site: Site | None
    is_missing: bool = False


class Geometry(NamedTuple):
    """How a tensor lies in its memory."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: torch.dtype


def geometry_of(tensor: torch.Tensor) -> Geometry:
    """Return how a tensor lies in its memory."""
    if tensor.is_nested:
        raise CannotCapture("it computes with nested tensors")
    return Geometry(
        tuple(tensor.shape), tuple(tensor.stride()), int(tensor.storage_offset()), tensor.dtype
    )


@dataclass
class Segment:
    """The operations up to a backward pass; `alive` keeps their tensors, so that no identity is used twice."""

    operations: list[CapturedOperation] = field(default_factory=list)
    alive: list[torch.Tensor] = field(default_factory=list)
    names: dict[int, torch.Tensor] = field(default_factory=dict)  # that were given a reference here
    memories: list[int] = field(default_factory=list)  # storages that were first met here
    bytes: int = 0
    failure: str | None = None


class ParameterTable:
    """Numbers the parameters that steps use; holds them, so that no identity is used twice."""

    def __init__(self) -> None:
        self.tensors: list[torch.Tensor] = []
        self._numbers: dict[int, int] = {}
        self.memories: set[int] = set()

    def number_of(self, parameter: torch.Tensor) -> int:
        """Return the number of a parameter, a new one at its first use."""
        number = self._numbers.get(id(parameter))
        if number is None:
            number = self._numbers[id(parameter)] = len(self.tensors)
            self.tensors.append(parameter)
            key = storage_key(parameter)
            if key is not None:
                self.memories.add(key)
        return number

    def known(self, parameter: torch.Tensor) -> int | None:
        """Return the number of a parameter that steps have used."""
        return self._numbers.get(id(parameter))


class SharedCopies:
    """Copies what does not change only once: frozen weights, tables of positions."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[weakref.ref[torch.Tensor], int, torch.Tensor]] = {}

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return a copy of a tensor as it is now."""
        key, version = id(tensor), version_of(tensor)
        known = self._made.get(key)
        if known is not None and known[0]() is tensor and known[1] == version:
            return known[2]
        copy = copy_of(tensor)
        gone = weakref.ref(tensor, lambda _: self._made.pop(key, None))
        self._made[key] = (gone, version, copy)
        return copy


class OperationLog:
    """Gives tensors their references; a written tensor shares the reference of its memory with every view of it."""

    def __init__(self, parameters: ParameterTable) -> None:
        self.parameters = parameters
        self.segments: list[Segment] = [Segment()]
        self.slots: dict[int, LoggedSlot] = {}
        self._copies = SharedCopies()
        self._next = 0
        self._earlier = 0  # numbers up to this one belong to earlier segments
        self._refs: dict[int, Ref] = {}
        self._slot_of: dict[tuple[int, int], tuple[int, weakref.ref[torch.Tensor]]] = {}
        self._views: dict[int, list[tuple[Geometry, int]]] = {}  # values by their memory
        self._bases: dict[int, int] = {}  # the value that is all of a memory which a slot was

    @property
    def current(self) -> Segment:
        """Return the segment that is being written."""
        return self.segments[-1]

    def operations(self) -> list[CapturedOperation]:
        """Return all operations, oldest first."""
        return [one for segment in self.segments for one in segment.operations]

    def begin_segment(self) -> None:
        """Begin a segment after a backward pass, and forget old ones.

        State that a step leaves to the next one without a graph (running statistics, averages) is data there.
        """
        self._earlier = self._next
        last = self.segments[-1]
        with_graph = {name: one for name, one in last.names.items() if one.requires_grad}
        for name in last.names.keys() - with_graph.keys():
            self._refs.pop(name, None)
        still = {storage_key(one) for one in with_graph.values()}
        for memory in last.memories:
            if memory not in still:
                self._views.pop(memory, None)
                self._bases.pop(memory, None)
        self.segments.append(Segment())
        while len(self.segments) > KEPT_PASSES:
            self._forget(self.segments.pop(0))

    def clear(self, reason: str) -> None:
        """Forget everything; what comes later can still be captured if it needs none of it."""
        for segment in self.segments:
            self._forget(segment)
        self.segments = [Segment(failure=reason)]

    def _forget(self, segment: Segment) -> None:
        for name in segment.names:
            self._refs.pop(name, None)
        for memory in segment.memories:
            self._views.pop(memory, None)
            self._bases.pop(memory, None)
        used = {
            ref.number
            for one in self.segments
            if one is not segment
            for operation in one.operations
            for ref in operation.refs
            if ref.kind == "slot"
        }
        gone = {
            ref.number
            for operation in segment.operations
            for ref in operation.refs
            if ref.kind == "slot" and ref.number not in used
        }
        for number in gone:
            self.slots.pop(number, None)
        self._slot_of = {
            key: known for key, known in self._slot_of.items() if known[0] in self.slots
        }

    def new_number(self) -> int:
        """Return a number for a value or a slot."""
        self._next += 1
        return self._next

    def hold(self, tensor: torch.Tensor) -> None:
        """Keep a tensor alive as long as its segment is."""
        self.current.alive.append(tensor)

    def name(self, tensor: torch.Tensor, ref: Ref) -> None:
        """Give a tensor a reference."""
        segment = self.current
        self._refs[id(tensor)] = ref
        segment.names[id(tensor)] = tensor
        if ref.kind != "value":
            return
        key = storage_key(tensor)
        if key is None:
            return
        views = self._views.get(key)
        if views is None:
            views = self._views[key] = []
            segment.memories.append(key)
            segment.bytes += tensor.untyped_storage().nbytes()
        views.append((geometry_of(tensor), ref.number))

    def is_named(self, tensor: torch.Tensor) -> bool:
        """Tell whether a tensor has a reference of its own."""
        return id(tensor) in self._refs

    def depends(self, tensor: torch.Tensor) -> bool:
        """Tell whether a tensor depends on a parameter, or is one."""
        if tensor.requires_grad:
            return True
        known = self._refs.get(id(tensor))
        if known is not None and known.number > self._earlier:
            return True
        key = storage_key(tensor)
        if key is None:
            return False
        views = self._views.get(key)
        is_of_now = views is not None and views[-1][1] > self._earlier
        return is_of_now or key in self.parameters.memories

    def find(self, tensor: torch.Tensor) -> Ref | None:
        """Return the reference of a tensor that was seen, or whose memory was; a slot is none."""
        # What an earlier step computed is a part of this one only by its graph.
        earlier = 0 if tensor.requires_grad else self._earlier
        known = self._refs.get(id(tensor))
        if known is not None and (known.kind != "value" or known.number > earlier):
            return known
        key = storage_key(tensor)
        views = self._views.get(key) if key is not None else None
        if not views or views[-1][1] <= earlier:
            return None
        here = geometry_of(tensor)
        for geometry, number in reversed(views):
            if geometry == here:
                return Ref("value", number)
        base = self._bases.get(key, views[0][1]) if key is not None else views[0][1]
        return self._view(base, tensor)

    def slot(self, tensor: torch.Tensor, site: Site | None, *, is_missing: bool = False) -> Ref:
        """Return the slot of a tensor as it is now."""
        key = (id(tensor), version_of(tensor))
        known = self._slot_of.get(key)
        number = known[0] if known is not None and known[1]() is tensor else None
        if number is None:
            number = self.new_number()
            self._slot_of[key] = (number, weakref.ref(tensor))
            self.slots[number] = LoggedSlot(self._copies.of(tensor), site, is_missing)
            self.current.bytes += tensor.numel() * tensor.element_size()
            self.hold(tensor)
        return Ref("slot", number)

    def own(self, tensor: torch.Tensor, site: Site | None) -> Ref:
        """Return a value for a tensor that is about to be written: a view of a copy of all of its memory."""
        key = storage_key(tensor)
        if key is None:
            raise CannotCapture("it writes into a tensor without plain memory")
        count = tensor.untyped_storage().nbytes() // tensor.element_size()
        if count * tensor.element_size() > MOST_BYTES // 8:
            raise CannotCapture("it writes into memory that is too large to be copied")
        whole = tensor.detach().as_strided((count,), (1,), 0)
        source = self.new_number()
        self.slots[source] = LoggedSlot(whole.clone(), site)
        base = self.new_number()
        self.current.operations.append(
            CapturedOperation(torch.clone, (Ref("slot", source),), {}, (base,), site=site)
        )
        self.current.bytes += count * tensor.element_size()
        self._views[key] = [(geometry_of(whole), base)]
        self.current.memories.append(key)
        self._bases[key] = base
        self.hold(tensor)
        ref = self._view(base, tensor)
        self.name(tensor, ref)
        return ref

    def _view(self, base: int, tensor: torch.Tensor) -> Ref:
        number = self.new_number()
        here = geometry_of(tensor)
        self.current.operations.append(
            CapturedOperation(
                torch.as_strided,
                (Ref("value", base), here.shape, here.strides, here.offset),
                {},
                (number,),
            )
        )
        ref = Ref("value", number)
        self.name(tensor, ref)
        return ref


def copy_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy that lies in memory like the original, where it has no element twice."""
    if tensor.layout is not torch.strided or not has_values(tensor):
        raise CannotCapture("it computes with tensors that are not plain")
    plain = tensor.detach()
    strides = plain.stride()
    if plain.is_contiguous() or not plain.numel() or 0 in strides:
        return plain.clone()
    extent = 1 + sum((size - 1) * step for size, step in zip(plain.shape, strides, strict=True))
    if extent > 2 * plain.numel():
        return plain.clone()
    return torch.empty_strided(plain.shape, strides, dtype=plain.dtype, device=plain.device).copy_(
        plain
    )


def flat_tensors(value: Any) -> list[torch.Tensor]:
    """Return every tensor among arguments or results, nested ones too."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [one for part in value for one in flat_tensors(part)]
    if isinstance(value, dict):
        return [one for part in value.values() for one in flat_tensors(part)]
    return []
