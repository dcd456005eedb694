"""Finds the variables of the program that hold tensors: in its frames, its modules, its objects, its closures.

Reads only what lies there: no property, no `__len__` and no iterator of a class of the user's is ever called.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import field
from itertools import islice
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import nn

from torchwhy.observe.program.names import borrowed_locals
from torchwhy.observe.program.user_modules import user_modules
from torchwhy.observe.torch_features.module_parts import HOLDING, held_by_attribute
from torchwhy.observe.torch_features.tensor_parts import storage_key
from torchwhy.plain_data import dataclass
from torchwhy.source.files import layer_of

MOST_FRAMES = 12  # user frames: a training loop sits at most this deep below the script
MOST_ITEMS = 4096  # items read of one collection, 1 µs each; of a longer one, both ends
END = 1024  # items at each end of a long collection
MOST_WEIGHED = 512  # tensors of one collection whose memory is measured, 3 µs each
MOST_VARIABLES = 20_000  # variables and attributes read in one search: 10 ms
MOST_OBJECTS = 16  # in a collection whose objects are looked into each by itself: meters, callbacks
DEEPEST_OBJECT = 3  # trainer.meter.values
DEEPEST_ITEM = 3  # a list of dictionaries of lists
MOST_PARTS = 3  # of an item, that a report names
CONTAINERS = (list, tuple, dict, set, frozenset, deque)
MODULE_OWN = frozenset(vars(nn.Module())) - HOLDING


@dataclass(frozen=True)
class Holder:
    """One variable: its name in the program, the place it lives in, and what it holds now."""

    name: str
    value: Any
    function: str | None = None
    code: CodeType | None = None
    file: str | None = None

    @property
    def kind(self) -> str:
        """Return the kind of the value; a deque with its bound, if it has one."""
        base = base_of(self.value)
        bound = deque.maxlen.__get__(self.value) if base is deque else None
        if bound is not None:
            return f"deque(maxlen={bound})"
        return "tensor" if base is None else base.__name__


@dataclass
class Count:
    """How many tensors lie in a collection, how many with a graph, how many bytes of memory they share."""

    tensors: int = 0
    with_graph: int = 0
    bytes: int = 0
    items: int = 0
    _memory: set[int] = field(default_factory=set)

    def add(self, tensor: torch.Tensor) -> None:
        """Count one tensor; memory that several of them share counts once, and weights are their model's."""
        if issubclass(type(tensor), nn.Parameter):
            return
        self.tensors += 1
        self.with_graph += grad_fn(tensor) is not None
        if self.tensors <= MOST_WEIGHED:
            key = storage_key(tensor)
            if key is not None and key not in self._memory:
                self._memory.add(key)
                self.bytes += int(tensor.untyped_storage().nbytes())

    def scaled(self, factor: float) -> Count:
        """Return the estimated count of a whole collection, of which a part was read and a part of that measured."""
        weighed = min(self.tensors, MOST_WEIGHED)
        # Views of a few large tensors do not become more memory by being many.
        apart = len(self._memory) >= 0.9 * weighed
        share = self.tensors * factor / weighed if weighed and apart else 1.0
        return Count(
            round(self.tensors * factor),
            round(self.with_graph * factor),
            round(self.bytes * share),
            self.items,
        )


def is_tensor(value: Any) -> bool:
    """Tell whether something is a tensor, without asking the thing itself."""
    return issubclass(type(value), torch.Tensor)


def grad_fn(tensor: torch.Tensor) -> Any:
    """Return the operation that made a tensor, None without a graph."""
    return tensor.grad_fn


def base_of(value: Any) -> type | None:
    """Return the built-in collection a value is, also in the guise of a subclass."""
    kind = type(value)
    return next((base for base in CONTAINERS if issubclass(kind, base)), None)


def items_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield key and item of a collection through the built-in's own methods."""
    base = base_of(value)
    if base is dict:
        yield from dict.items(value)
    elif base is not None:
        yield from enumerate(base.__iter__(value))  # type: ignore[attr-defined]


def count_in(value: Any) -> Count:
    """Count the tensors in a collection, nested ones and those of plain objects in it included.

    Of a long collection the first and the last items are looked at: what grows by the step is of one kind.
    """
    base = base_of(value)
    length = 0 if base is None else base.__len__(value)  # type: ignore[attr-defined]
    items = items_of(value) if length <= MOST_ITEMS else _ends_of(value)
    count = Count()
    looked_at = 0
    for key, item in items:
        _count_pair(key, item, count, DEEPEST_ITEM)
        looked_at += 1
        if count.items > 2 * MOST_ITEMS:
            break
    return count.scaled(length / looked_at if looked_at else 1.0)


def _ends_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the first and the last items of a long collection, a thousand each."""
    yield from islice(items_of(value), END)
    base = base_of(value)
    if base is dict:
        yield from islice(reversed(dict.items(value)), END)
    elif base in (list, deque):
        yield from islice(enumerate(_backwards(value)), END)


def _backwards(value: Any) -> Iterator[Any]:
    """Yield the items of a list or deque, the last first, through the built-in's own method."""
    base: Any = base_of(value)
    yield from base.__reversed__(value)


def _count_pair(key: Any, item: Any, count: Count, depth: int) -> None:
    if is_tensor(key):  # A dict keeps its keys alive, too.
        count.add(key)
    _count_item(item, count, depth)


def _count_item(item: Any, count: Count, depth: int) -> None:
    count.items += 1
    if is_tensor(item):
        count.add(item)
    elif depth and base_of(item) is not None:
        for key, inner in islice(items_of(item), MOST_ITEMS):
            _count_pair(key, inner, count, depth - 1)
    elif depth and type(item).__module__ not in ("builtins", "numpy", "torch"):
        for inner in list(attributes_of(item).values()) if _is_users(type(item)) else ():
            _count_item(inner, count, depth - 1)


def graph_parts(value: Any) -> list[str]:
    """Return where the tensors with a graph lie in the last item of a list: `['loss']`; nothing if it is a tensor.

    Entries of a dict and lists within a list grow by themselves, so their parts do not tell what was added.
    """
    if base_of(value) not in (list, deque):
        return []
    last: Any = next(_backwards(value), None)
    base = base_of(last)
    if is_tensor(last) or base is list:
        return []
    parts = items_of(last) if base is not None else attributes_of(last).items()
    name = "[{!r}]" if base is not None else ".{}"
    found = (
        name.format(key) for key, item in parts if is_tensor(item) and grad_fn(item) is not None
    )
    return list(islice(found, MOST_PARTS))


def attributes_of(thing: Any) -> dict[str, Any]:
    """Return an object's own attributes, empty where there are none."""
    try:
        attributes = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return {}
    return attributes if type(attributes) is dict else {}


class Search:
    """One look at everything the program can name."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}  # how deep the look into each thing may have gone
        self._left = MOST_VARIABLES

    @property
    def visited(self) -> int:
        """Return how many variables and parts of objects were looked at."""
        return MOST_VARIABLES - self._left

    def holders(self, frame: FrameType | None) -> Iterator[Holder]:
        """Yield what the frames from here outwards hold, then what the program's modules hold."""
        frames = [inner for inner in user_frames(frame) if inner.f_code.co_name != "<module>"]
        owned = {name for inner in frames for name in inner.f_code.co_cellvars}
        for inner in frames:
            code = inner.f_code
            for name, value in borrowed_locals(inner).items():
                # A variable of an enclosing function belongs to that function, not to where it is used.
                if not name.startswith(".") and not (name in code.co_freevars and name in owned):
                    yield from self._visit(
                        Holder(name, value, code.co_name, code, code.co_filename)
                    )
        for module in user_modules():
            attributes = vars(module)
            for name, value in list(attributes.items()):
                if not name.startswith("__"):
                    yield from self._visit(Holder(name, value, file=attributes.get("__file__")))

    def _visit(self, holder: Holder, depth: int = DEEPEST_OBJECT) -> Iterator[Holder]:
        value = holder.value
        self._left -= 1
        if self._left < 0 or type(value) in (int, float, str, bool, type(None), ModuleType):
            return
        if self._seen.get(id(value), -1) >= depth:
            return
        is_new = id(value) not in self._seen
        self._seen[id(value)] = depth
        if is_tensor(value) or base_of(value) is not None:
            if is_new:
                yield holder
            yield from self._objects_in(holder, depth)
        elif depth:
            try:
                parts = [_part(holder, name, inner) for name, inner in _parts_of(value)]
            except (
                AttributeError,
                RuntimeError,
                TypeError,
                ValueError,
            ):  # an object that is not what it seems
                return
            for part in parts:
                yield from self._visit(part, depth - 1)

    def _objects_in(self, holder: Holder, depth: int) -> Iterator[Holder]:
        """Yield what the program's own objects in a small collection hold: the meters of a logger, callbacks."""
        base = base_of(holder.value)
        if not depth or base is None or base.__len__(holder.value) > MOST_OBJECTS:  # type: ignore[attr-defined]
            return
        for key, item in list(items_of(holder.value)):
            kind = type(item)
            if (
                base_of(item) is None
                and not issubclass(kind, (type, nn.Module))
                and _is_users(kind)
            ):
                name = f"{holder.name}[{key!r}]"
                item_holder = Holder(name, item, holder.function, holder.code, holder.file)
                yield from self._visit(item_holder, depth)


def _part(holder: Holder, name: str, value: Any) -> Holder:
    """Return what an object, class or function holds, named after it."""
    thing = holder.value
    if type(thing) in (FunctionType, MethodType):
        code = thing.__code__
        own = (
            code if name in code.co_varnames else None
        )  # an argument's default, not a variable around it
        return Holder(name, value, code.co_name, own, code.co_filename)
    owner = thing.__name__ if issubclass(type(thing), type) else type(thing).__name__
    return Holder(f"{holder.name}.{name}", value, owner, holder.code, holder.file)


def _parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of an object of the program, of a class, or the closure of a function."""
    if type(value) in (FunctionType, MethodType):
        if type(value) is MethodType:
            yield "self", value.__self__
        else:
            yield from _closure_of(value)
    elif issubclass(type(value), nn.Module):
        yield from _module_parts(value)
    elif issubclass(type(value), type):
        if _is_users(value):
            yield from (
                (name, item)
                for name, item in list(vars(value).items())
                if base_of(item) is not None
            )
    else:
        yield from _attributes(value)


def _attributes(thing: Any) -> Iterator[tuple[str, Any]]:
    if _is_users(type(thing)) or type(thing) is SimpleNamespace:
        yield from list(attributes_of(thing).items())


def _closure_of(function: FunctionType) -> Iterator[tuple[str, Any]]:
    if layer_of(function.__code__.co_filename) != "user":
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # a variable of the enclosing function that has no value yet
            continue
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    yield from zip(names[len(names) - len(defaults) :], defaults, strict=False)
    yield from (function.__kwdefaults__ or {}).items()


def _module_parts(module: nn.Module) -> Iterator[tuple[str, Any]]:
    for name, value in list(attributes_of(module).items()):
        if name in MODULE_OWN:
            continue
        held = held_by_attribute(name, value)
        yield from [(name, value)] if held is None else held


def _is_users(kind: type) -> bool:
    """Tell whether a class was written in the program itself."""
    module = sys.modules.get(kind.__module__)
    file = vars(module).get("__file__") if type(module) is ModuleType else None
    return kind.__module__ == "__main__" or (isinstance(file, str) and layer_of(file) == "user")


def user_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the user's frames from here outwards."""
    found = 0
    while frame is not None and found < MOST_FRAMES:
        if layer_of(frame.f_code.co_filename) == "user":
            found += 1
            yield frame
        frame = frame.f_back
