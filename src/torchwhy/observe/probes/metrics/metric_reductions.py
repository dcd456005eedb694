"""Checks whether an average over the batches of a loader is the average over its samples.

The numbers are seen as the program reads them; the divisor is found in the source and looked up in the frame. An
average is recorded if a pass over the whole loader gives another number than it should.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sized
from dataclasses import field
from types import FrameType
from typing import Any, cast

import torch
from torch.utils.data import DataLoader, Dataset

from torchwhy.observe.program.frames import Site, span_of
from torchwhy.observe.program.names import borrowed_locals
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.torch_features.layer_kinds import LOSSES as TORCH_LOSSES
from torchwhy.observe.torch_features.module_parts import stored_part
from torchwhy.plain_data import dataclass
from torchwhy.record.learning import MetricReduced
from torchwhy.source.analyses.averages import Average, averages_at, counter_step, is_in_inner_loop
from torchwhy.source.edits import Source
from torchwhy.source.files import loaded
from torchwhy.source.values import look_up, stored_attribute, text_of

MOST_PLACES = 16
MOST_BATCHES = 10_000  # of a loader, because the numbers of one pass are kept
MOST_BROKEN_OFF = 3  # passes with a training step in them, after which the place counts as training
LOSSES = {
    "cross_entropy",
    "nll_loss",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
}
SAME = 1e-6  # relative difference that rounding explains


@dataclass(frozen=True)
class Divided:
    """What an average is divided by in the pass that has just begun."""

    average: Average
    divisor: float
    of: str
    sizes: tuple[int, ...]


@dataclass
class _Place:
    source: Source
    line: int
    step: int = -1
    values: list[float] = field(default_factory=list)
    divided: list[Divided] = field(default_factory=list)
    broken_off: int = 0


class Reductions:
    """Follows the numbers that are read in evaluation, one pass over a loader at a time."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._places: dict[Site, _Place | None] = {}
        self._told: set[tuple[str, int, int]] = set()
        self.judged = 0  # averages over a whole pass

    def read(self, site: Site, frame: FrameType, step: int, value: float) -> None:
        """Add one number that the program reads without gradients."""
        if site not in self._places:
            source = loaded(site.code.co_filename) if len(self._places) < MOST_PLACES else None
            self._places[site] = _Place(source, span_of(site).line) if source is not None else None
        place = self._places[site]
        if place is None:
            return
        if step != place.step or not place.values:
            place.broken_off += bool(place.values)
            place.step = step
            place.values.clear()
            place.divided = list(_divided(place, frame))
            if not place.divided or place.broken_off >= MOST_BROKEN_OFF:
                self._places[site] = None  # no average, or one of training
                return
        place.values.append(value)
        for divided in place.divided:
            if len(place.values) == len(divided.sizes):
                self._judge(place, divided)
        if len(place.values) >= max(len(divided.sizes) for divided in place.divided):
            place.values.clear()

    def is_over(self, site: Site) -> bool:
        """Tell whether a place needs no more numbers."""
        return site in self._places and self._places[site] is None

    def _judge(self, place: _Place, divided: Divided) -> None:
        self.judged += 1
        average, sizes = divided.average, divided.sizes
        total = math.fsum(place.values)
        given = total / divided.divisor
        right = total / sum(sizes)
        if average.kind != "count":
            right = math.fsum(v * s for v, s in zip(place.values, sizes, strict=True)) / sum(sizes)
        if not math.isfinite(given) or abs(given - right) <= SAME * abs(right):
            return
        location = place.source.span(average.division)
        key = (location.file, location.line, location.column or 0)
        if key in self._told:
            return
        self._told.add(key)
        self._recorder.write(
            MetricReduced(
                step=place.step,
                variable=average.variable,
                kind=average.kind,
                divided_by=divided.of,
                divisor=divided.divisor,
                given=given,
                right=right,
                total=total,
                batches=len(sizes),
                samples=sum(sizes),
                first_batch=sizes[0],
                last_batch=sizes[-1],
                location=location,
                added_at=place.source.span(average.added),
            )
        )


@dataclass(frozen=True)
class _Known:
    """What the frame that reads a number knows: its objects by name, and the batch sizes of its loaders."""

    look: Callable[[ast.expr], Any]
    batches: int
    batch_sizes: frozenset[int]


@dataclass(frozen=True)
class FrameValues:
    """The values of expressions in a frame, as far as they are known without running anything."""

    names: Mapping[str, Any]

    def value(self, node: ast.expr) -> Any:
        """Return the current value of an expression, None if it is unknown."""
        return look_up(node, self.names, attribute=_attribute)

    def is_tensor(self, node: ast.expr) -> bool:
        """Tell whether an expression names a tensor."""
        return isinstance(self.value(node), torch.Tensor)

    def is_mean_loss(self, call: ast.Call) -> bool:
        """Tell whether a call returns the mean loss of a batch."""
        called = self.value(call.func)
        if isinstance(called, TORCH_LOSSES):
            return bool(called.reduction == "mean")
        name = getattr(called, "__name__", "")
        own = getattr(called, "__module__", "") == "torch.nn.functional" and name in LOSSES
        return own and not any(key.arg in ("reduction", "size_average") for key in call.keywords)


def _attribute(holder: Any, name: str) -> Any:
    found = stored_attribute(holder, name)
    return found if found is not None else stored_part(holder, name)


def _divided(place: _Place, frame: FrameType) -> list[Divided]:
    """Return the averages that a place feeds, with their divisors from the frame."""
    names = borrowed_locals(frame)
    values = FrameValues({**frame.f_globals, **names})
    look = values.value
    found = []
    for average in averages_at(place.source, place.line, values):
        loader = _loader_of(average.loop.iter, look)
        sizes = _batch_sizes(loader)
        if loader is None or sizes is None:
            continue
        if is_in_inner_loop(place.source, average.added, average.loop):
            continue
        loaders = (loader, *_loaders_in(names, frame.f_globals))
        known = {size for one in loaders if isinstance(size := one.batch_size, int)}
        number = _number(average, place.source, _Known(look, len(sizes), frozenset(known)))
        if number is not None:
            found.append(Divided(average, *number, sizes))
    return found


def _loaders_in(names: Mapping[str, Any], beyond: Mapping[str, Any]) -> Iterator[DataLoader[Any]]:
    """Yield the loaders among a frame's variables, those of its module, and the attributes of its `self`."""
    own = getattr(names.get("self"), "__dict__", {})
    for value in (*names.values(), *own.values(), *beyond.values()):
        if type(value) is DataLoader:
            yield value


def _loader_of(node: ast.expr, look: Any) -> DataLoader[Any] | None:
    """Return the loader behind `loader`, `enumerate(loader)`, `tqdm(enumerate(loader))`."""
    while isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    found = look(node)
    return found if type(found) is DataLoader else None


def _batch_sizes(loader: DataLoader[Any] | None) -> tuple[int, ...] | None:
    """Return how many samples each batch of a pass has; None if that varies."""
    size = getattr(loader, "batch_size", None)
    sampler = getattr(loader, "sampler", None)
    if not isinstance(size, int) or not hasattr(type(sampler), "__len__"):
        return None
    samples = len(sampler)  # type: ignore[arg-type]
    whole, rest = divmod(samples, size)
    if not 0 < whole + 1 <= MOST_BATCHES or loader is None:
        return None
    sizes = (size,) * whole + ((rest,) if rest and not loader.drop_last else ())
    return sizes or None


def _number(average: Average, source: Source, known: _Known) -> tuple[float, str] | None:
    """Return the product of all divisors and what it counts, None if one of them is not understood."""
    product, of = 1.0, []
    for divisor in average.divisors:
        number = _divisor(divisor, average, source, known)
        if number is None:
            return None
        product *= number[0]
        of.append(number[1])
    return (product, " × ".join(of)) if product else None


def _divisor(
    node: ast.expr, average: Average, source: Source, known: _Known
) -> tuple[float, str] | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        parts = [_divisor(part, average, source, known) for part in (node.left, node.right)]
        if None in parts:
            return None
        (a, what), (b, other) = (part for part in parts if part is not None)
        return a * b, f"{what} × {other}"
    if isinstance(node, ast.Call) and text_of(node.func) == "len" and len(node.args) == 1:
        return _length(node.args[0], known.look)
    if isinstance(node, ast.Name):
        return _variable(node, average, source, known)
    return _batch_size(node, known) if isinstance(node, ast.Attribute) else None


def _length(node: ast.expr, look: Any) -> tuple[float, str] | None:
    found = look(node)
    if type(found) is DataLoader:
        sizes = _batch_sizes(found)
        return (float(len(sizes)), "batches") if sizes is not None else None
    if isinstance(found, Dataset) and hasattr(type(found), "__len__"):
        return float(len(cast("Sized", found))), "samples"
    return None


def _variable(
    name: ast.Name, average: Average, source: Source, known: _Known
) -> tuple[float, str] | None:
    """Return the number of a variable: a counter of batches, or a size that was taken before the loop."""
    function = source.function_of(average.loop)
    step = counter_step(function, average.loop, name.id)
    if step is not None:
        one = isinstance(step, ast.Constant) and step.value == 1
        return (float(known.batches), "batches") if one else None
    assigned = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and text_of(node.targets[0]) == name.id
    ]
    if len(assigned) == 1 and isinstance(assigned[0].value, ast.Call):
        call = assigned[0].value
        return (
            _length(call.args[0], known.look)
            if text_of(call.func) == "len" and len(call.args) == 1
            else None
        )
    changes = any(average.loop in source.around(node) for node in assigned)
    return _batch_size(name, known) if not changes else None


def _batch_size(node: ast.expr, known: _Known) -> tuple[float, str] | None:
    """Return a number that is the batch size of a loader."""
    found = known.look(node)
    is_size = type(found) is int and found in known.batch_sizes
    return (float(found), "samples a batch") if is_size else None
