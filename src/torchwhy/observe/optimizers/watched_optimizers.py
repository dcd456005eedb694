"""The optimizers of the program: where each was made, what it holds, how many steps it has made."""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import torch

from torchwhy.finding import SourceSpan
from torchwhy.observe.native.records import WatchedRecord
from torchwhy.observe.program.frames import span_of, user_sites
from torchwhy.observe.program.names import Names, borrowed_locals
from torchwhy.observe.program.weak_table import WeakTable
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.step_handler import CurrentHandler
from torchwhy.observe.torch_features.compiler import uncompiled
from torchwhy.observe.torch_features.tensor_parts import gradient_of
from torchwhy.record.events import OptimizerDescribed, OptimizerMade
from torchwhy.record.numbers import Real, encode
from torchwhy.source.files import layer_of


class WatchedOptimizer(WatchedRecord):
    """One optimizer, which is not kept alive by being watched."""

    def __init__(
        self,
        index: int,
        optimizer: Any,
        names: Names,
        when_gone: Callable[[weakref.ref[Any]], object] | None = None,
    ) -> None:
        self.index = index
        self.steps = 0
        self.next_sample = 0  # the step at which its weights are measured next
        self.batches_at_last_step = 0
        # Of the current step, if they were measured.
        self.gradient_sizes: list[Real] | None = None
        self._optimizer = weakref.ref(optimizer, when_gone)
        self._names = names
        self._rates: list[float | None] = []
        self._named: tuple[tuple[int, int], list[int], list[str]] | None = None

    @property
    def optimizer(self) -> Any:
        """Return the optimizer, None if the program no longer holds it."""
        return self._optimizer()

    def parameters(self) -> list[torch.Tensor]:
        """Return its parameters in the order of its groups."""
        optimizer = self.optimizer
        # Another thread may have made the optimizer and not yet given it its groups.
        groups = getattr(optimizer, "param_groups", ())
        return [parameter for group in groups for parameter in group["params"]]

    def gradients(self) -> list[torch.Tensor | None]:
        """Return the gradient of each parameter, None where there is none."""
        return [gradient_of(parameter) for parameter in self.parameters()]

    def names(self) -> list[str]:
        """Return what the program calls its parameters; outside of modules, their position here."""
        held = [id(parameter) for parameter in self.parameters()]
        edition = self._names.edition
        if self._named is None or self._named[:2] != (edition, held):
            known = self._names.parameters()
            names = [known.get(key, f"parameter {place}") for place, key in enumerate(held)]
            self._named = (edition, held, names)
        return list(self._named[2])

    def named_gradients(self) -> Iterator[tuple[str, torch.Tensor | None]]:
        """Yield the name and gradient of each parameter."""
        yield from zip(self.names(), self.gradients(), strict=True)

    def withhold(self) -> None:
        """Make the coming step write nothing: an optimizer skips parameters without a gradient."""
        for parameter in self.parameters():
            parameter.grad = None

    def changed_rates(self) -> list[float | None] | None:
        """Return the learning rates when they differ from the last time."""
        optimizer = self.optimizer
        rates: list[float | None] = [
            float(group.get("lr", math.nan)) for group in optimizer.param_groups
        ]
        if rates == self._rates:
            return None
        self._rates = rates
        return rates


class WatchedOptimizers:
    """Learns of optimizers when the program makes them, and returns the record of each."""

    def __init__(
        self,
        recorder: Recorder,
        names: Names,
        handlers: CurrentHandler,
        *,
        when_none_lives: Callable[[], object] = lambda: None,
        when_described: Callable[[], object] = lambda: None,
    ) -> None:
        self._recorder = recorder
        self._names = names
        self._handlers = handlers
        self._when_described = when_described
        self._watched = WeakTable[WatchedOptimizer]()
        self._described: set[int] = set()
        self._living: list[WatchedOptimizer] = []
        self._when_none_lives = when_none_lives
        self._earlier = weakref.WeakSet[Any]()  # made before the program was watched
        self.any_made = False
        self.count = 0

    def made(self, optimizer: Any, frame: FrameType | None) -> WatchedOptimizer:
        """Note a new optimizer and the line that made it."""
        known = self._watched.get(optimizer)
        if known is not None:
            return known
        watched = self._add(optimizer, frame)
        self._handlers.current.optimizer_made()
        return watched

    def _add(self, optimizer: Any, frame: FrameType | None) -> WatchedOptimizer:
        self.any_made = True
        watched = self._watched[optimizer] = WatchedOptimizer(
            self.count, optimizer, self._names, self._one_is_gone
        )
        self._living = [*self._living, watched]
        self.count += 1
        self._names.learn(frame)
        self._recorder.write(
            OptimizerMade(
                index=watched.index,
                kind=type(optimizer).__name__,
                defaults=_plain(getattr(optimizer, "defaults", {})),
                location=_made_at(optimizer, frame),
            )
        )
        return watched

    def expect_earlier(self) -> None:
        """Learn which optimizers were made before; each gets its record at its first step, as it may never make one."""
        kind = torch.optim.Optimizer
        found = [one for one in gc.get_objects() if issubclass(type(one), kind)]
        for optimizer in found:
            self._earlier.add(optimizer)
        if found:
            self.any_made = True
            self._handlers.current.optimizer_made()

    def of(self, optimizer: Any, frame: FrameType | None) -> WatchedOptimizer:
        """Return the record of an optimizer."""
        known = self._watched.get(optimizer)
        if known is not None:
            return known
        if optimizer in self._earlier:  # Nobody knows the line that made it.
            return self._add(optimizer, None)
        return self.made(optimizer, frame)

    def describe_once(self, watched: WatchedOptimizer, frame: FrameType | None) -> bool:
        """Learn and record what an optimizer holds, at its first step; tell whether this was the time."""
        if watched.index in self._described:
            return False
        self._described.add(watched.index)
        self._names.learn(frame)
        self._describe(watched)
        return True

    def position_of(self, optimizer: Any) -> tuple[int, int]:
        """Return the index of an optimizer and the steps it has made; -1 for anything else."""
        watched = (
            self._watched.get(optimizer) if isinstance(optimizer, torch.optim.Optimizer) else None
        )
        return (watched.index, watched.steps) if watched is not None else (-1, 0)

    def all(self) -> list[WatchedOptimizer]:
        """Return the record of every optimizer that still lives."""
        for watched in self._living:
            if watched.optimizer is None:
                self._living = [w for w in self._living if w.optimizer is not None]
                break
        return self._living

    @uncompiled
    def _one_is_gone(self, _: weakref.ref[Any]) -> None:
        if not any(watched.optimizer is not None for watched in self._living):
            self._when_none_lives()

    def _describe(self, watched: WatchedOptimizer) -> None:
        parameters = watched.parameters()
        self._recorder.write(
            OptimizerDescribed(
                index=watched.index,
                parameters=watched.names(),
                shapes=[list(p.shape) for p in parameters],
                dtypes=[str(p.dtype).removeprefix("torch.") for p in parameters],
            )
        )
        self._when_described()


def _made_at(optimizer: Any, frame: FrameType | None) -> SourceSpan | None:
    """Return the expression that made the optimizer, outside of an `__init__` that the user wrote for it."""
    while frame is not None:
        own = frame.f_code.co_name == "__init__" and borrowed_locals(frame).get("self") is optimizer
        if not own and layer_of(frame.f_code.co_filename) == "user":
            return span_of(user_sites(frame, limit=1)[0])
        frame = frame.f_back
    return None


def _rate(rate: Any) -> float | None:
    """Return a learning rate as a number; some optimizers find their own and say None."""
    value = math.nan if rate is None else float(rate)
    return value if math.isfinite(value) else None


def _plain(defaults: dict[str, Any]) -> dict[str, Real | bool | str | None]:
    plain: dict[str, Real | bool | str | None] = {}
    for name, value in defaults.items():
        if isinstance(value, (bool, str, type(None))):
            plain[name] = value
        elif isinstance(value, (int, float)):
            plain[name] = encode(float(value))
        elif isinstance(value, torch.Tensor) and value.numel() == 1:
            plain[name] = encode(float(value.item()))
        elif isinstance(value, tuple):
            plain[name] = str(value)
    return plain
