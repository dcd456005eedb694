"""Notes what a program does with bad values outside of training: prints, reads, compares, saves or tests them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from torchwhy.observe.hooks import Hooks
from torchwhy.observe.steps import gradients
from torchwhy.replay.microscope.arguments import can_look
from torchwhy.replay.microscope.forward_notes import ForwardNotes
from torchwhy.replay.microscope.memory_writers import MemoryWriters
from torchwhy.replay.microscope.operations import Operation
from torchwhy.replay.nonfinite.nonfinite_log import NonfiniteLog
from torchwhy.replay.untrained.taken_value import Taken

TESTS_OF_NAN, TESTS_OF_INFINITY = {"isnan"}, {"isinf", "isposinf", "isneginf"}
EQUALITY = {"eq", "ne"}  # `isfinite` compares a tensor with itself
COMPARISONS = {"lt", "le", "gt", "ge"}
# Methods by which values leave torch without an operation; printing takes modes off.
OTHER_WAYS = {"__repr__": "prints", "numpy": "reads", "tolist": "reads"}
PROBE, GROUP = "read probe", "untrained"
MOST_SAVED = 1000  # tensors of one call of `torch.save`


class TakenValues:
    """Follows tests and comparisons through tensors of booleans up to where the program reads or uses them."""

    def __init__(self, log: NonfiniteLog, writers: MemoryWriters, notes: ForwardNotes) -> None:
        self._log = log
        self._writers = writers
        self._notes = notes
        self._leave: Callable[[], object] | None = None

    def by_operation(self, operation: Operation, given: list[torch.Tensor]) -> None:
        """Note what an operation does with bad operands."""
        if not self._log.is_open:
            return
        for tensor in given:
            births = self._writers.births_of(tensor) if can_look(tensor) else None
            if not births:
                continue
            if _tests(operation, given, tensor):
                operation.tested |= births
            elif operation.info.base in COMPARISONS and operation.issuer == "user":
                operation.compared |= births if bool(torch.isnan(tensor).any()) else frozenset()
        makes_numbers = operation.dtype.startswith(("float", "bfloat", "complex"))
        for source in operation.inputs:
            if source is None or not (source.tested or source.compared):
                continue
            if makes_numbers:
                self._log.expected(source.tested)  # they choose what to leave out
            else:
                operation.tested |= source.tested
                operation.compared |= source.compared

    def by_read(self, given: list[torch.Tensor]) -> None:
        """Note that the program reads a number, or branches."""
        for tensor in given:
            if can_look(tensor):
                if not gradients.is_finite(tensor):
                    self._take(tensor, "a value the program reads")
                continue
            made = self._notes.maker_of(tensor) if self._log.is_open else None
            if made is not None and (made.tested or made.compared):
                self._log.expected(made.tested)
                taken = Taken("a comparison", is_nan=True, is_whole=True)
                self._log.noticed(made.compared, taken)

    def watch(self, hooks: Hooks, protect: Callable[..., Any]) -> None:
        """Note what the program saves, prints and hands to NumPy, none of which is an operation, until it trains."""
        saved, taken = protect(PROBE, self._saved), protect(PROBE, self._taken_whole)
        hooks.replace_function(torch, "save", self._telling(torch.save, saved), group=GROUP)
        for name, how in OTHER_WAYS.items():
            noted = functools.partial(taken, how=f"a value the program {how}")
            told = self._telling(getattr(torch.Tensor, name), noted)
            hooks.replace(torch.Tensor, name, told, group=GROUP)
        self._leave = functools.partial(hooks.remove_group, GROUP)

    def training_begins(self) -> None:
        """Take these hooks off: from here on, losses and gradients tell."""
        leave, self._leave = self._leave, None
        if leave is not None:
            leave()

    def _telling(self, function: Any, note: Callable[[Any], object]) -> Any:
        @functools.wraps(function)
        def told(*args: Any, **kwargs: Any) -> Any:
            if self._log.is_open and args:
                note(args[0])
            return function(*args, **kwargs)

        return told

    def _taken_whole(self, tensor: torch.Tensor, *, how: str) -> None:
        if can_look(tensor) and not gradients.is_finite(tensor):
            self._take(tensor, how)

    def _saved(self, value: Any) -> None:
        for _, tensor in zip(range(MOST_SAVED), _tensors(value), strict=False):
            if can_look(tensor) and not gradients.is_finite(tensor):
                self._take(tensor, "a value the program saves", is_saved=True)

    def _take(self, tensor: torch.Tensor, how: str, *, is_saved: bool = False) -> None:
        entry = self._writers.entry(tensor)
        if entry is None:
            return
        last = entry.last_operation
        nan, bad = torch.isnan(tensor.detach()), ~torch.isfinite(tensor.detach())
        taken = Taken(
            how,
            is_nan=bool(nan.any()),
            is_whole=bool(bad.all()),
            is_computed=last is not None and not last.info.is_creating,
            is_saved=is_saved,
        )
        self._log.noticed(entry.births, taken)


def _tests(operation: Operation, given: list[torch.Tensor], tensor: torch.Tensor) -> bool:
    """Tell whether an operation finds the bad values of a tensor: NaN by `isnan`, infinities by `isinf`."""
    base = operation.info.base
    of_itself = base in EQUALITY and len(given) == 2 and given[0] is given[1]
    if base in TESTS_OF_NAN or of_itself:
        return bool(torch.isnan(tensor).any())
    return base in TESTS_OF_INFINITY and bool(torch.isinf(tensor).any())


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _tensors(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(one)
