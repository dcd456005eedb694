"""Records the order of calls in the first steps: zero_grad, backward, clip, step, train, eval; and schedulers."""

from __future__ import annotations

import dis
import functools
import math
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, GeneratorType
from typing import Any

import torch
from torch.nn.utils import clip_grad
from torch.optim import lr_scheduler

from torchwhy.observe.descriptors import NotedOnAccess
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.probes.forwards.modes import is_whole_statement
from torchwhy.observe.probes.forwards.tallies import Switch
from torchwhy.observe.probes.metrics.plateau_metrics import Metrics
from torchwhy.observe.program.frames import Site, span_of, user_sites
from torchwhy.observe.program.weak_table import WeakTable
from torchwhy.observe.torch_features.compiler import shown_as
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.torch_internals import RANKS_FOLDER
from torchwhy.record.events import Event
from torchwhy.record.learning import CallSeen, StepCalls
from torchwhy.record.wiring import CallsCounted, SchedulerSeen
from torchwhy.source.files import layer_of

GROUP = "call order"  # of hooks that are not needed once the order is recorded
STEPS_TOLD = 6  # optimizer steps whose order of calls is recorded; a loop repeats itself
NOTHING: set[int] = set()
MOST_CALLS = 64  # calls recorded per step
SETTINGS = (
    "step_size",
    "gamma",
    "T_max",
    "T_0",
    "total_iters",
    "total_steps",
    "patience",
    "eta_min",
)


class CallOrder:
    """Keeps the calls since the last step; after the first steps, a call costs one comparison.

    `position` returns the number of steps and backward passes so far, `optimizer_of` index and steps of an optimizer.
    """

    def __init__(
        self,
        write: Callable[[Event], None],
        position: Callable[[], tuple[int, int]],
        optimizer_of: Callable[[Any], tuple[int, int]],
    ) -> None:
        self._write = write
        self._position = position
        self._optimizer_of = optimizer_of
        self._calls: list[CallSeen] = []
        self._clipped: set[int] = set()  # identities of the parameters clipped since the last step
        self._told = 0
        self._hooks: Hooks | None = None
        self._switches: dict[int, tuple[weakref.ref[Any], Switch]] = {}
        self._schedulers = WeakTable[int]()
        self._scheduler_calls: dict[int, int] = {}
        self._metrics = Metrics()
        self.counts: dict[str, int] = {}
        self._is_over = False

    def install(self, hooks: Hooks, protect: Callable[[str, Any], Any]) -> None:
        """Watch the methods whose order matters."""
        self._hooks = hooks
        optimizer, module = torch.optim.Optimizer, torch.nn.Module
        for holder, method in (
            (optimizer, "zero_grad"),
            (module, "zero_grad"),
            (module, "train"),
            (module, "eval"),
        ):
            self._watch(hooks, protect, holder, method)
        for kind in vars(lr_scheduler).values():
            is_scheduler = isinstance(kind, type) and issubclass(kind, lr_scheduler.LRScheduler)
            if is_scheduler and "step" in vars(kind):
                self._watch(hooks, protect, kind, "step", name="scheduler")
        note = protect("call order probe", self.note)
        for function in ("clip_grad_norm_", "clip_grad_value_"):
            stand_in = _noting_clip(
                getattr(clip_grad, function), note, lambda: self._told < STEPS_TOLD
            )
            for namespace in (clip_grad, torch.nn.utils):
                hooks.replace_function(namespace, function, stand_in)

    def note(
        self,
        name: str,
        frame: FrameType | None,
        instance: Any = None,
        target: str | None = None,
        *,
        by_ranks: bool = False,
        clipped: set[int] = NOTHING,
    ) -> None:
        """Note one call made at `frame`, unless torch makes it."""
        if frame is None or layer_of(frame.f_code.co_filename) == "torch":
            return
        self.counts[name] = self.counts.get(name, 0) + 1
        if name == "scheduler":
            self._note_scheduler(instance, frame)
        elif name in ("train", "eval"):
            self._note_switch(name, instance, frame)
        if self._told < STEPS_TOLD and len(self._calls) < MOST_CALLS:
            sites = user_sites(frame, limit=1)
            optimizer = None
            if name in ("scheduler", "zero_grad"):
                optimizer = self._optimizer_of(getattr(instance, "optimizer", instance))[0]
            self._calls.append(
                CallSeen(
                    name=name,
                    location=span_of(sites[0]) if sites else None,
                    target=target or (type(instance).__name__ if instance is not None else None),
                    optimizer=optimizer,
                    by_ranks=by_ranks,
                    used=name == "clip" and not is_whole_statement(sites[0] if sites else None),
                    again=not clipped.isdisjoint(self._clipped),
                )
            )
            self._clipped |= clipped

    def note_inner(self, name: str, frame: FrameType | None) -> None:
        """Note a call that torch's own code makes for the user: backward, step."""
        if self._told >= STEPS_TOLD:
            self.counts[name] = self.counts.get(name, 0) + 1
            return
        by_ranks = False
        while frame is not None and layer_of(frame.f_code.co_filename) == "torch":
            by_ranks |= RANKS_FOLDER in frame.f_code.co_filename
            frame = frame.f_back
        self.note(name, frame, by_ranks=by_ranks)

    @property
    def is_full(self) -> bool:
        """Tell whether further calls before the next step are not recorded."""
        return self._told >= STEPS_TOLD or len(self._calls) >= MOST_CALLS

    def last_switch(self, model: Any) -> Switch | None:
        """Return the last `train()` or `eval()` call on a model."""
        reference, switch = self._switches.get(id(model), (None, None))
        return switch if reference is not None and reference() is model else None

    def end_step(self, step: int) -> None:
        """Record the calls of a step."""
        if self._told < STEPS_TOLD:
            self._told += 1
            self._write(StepCalls(step=step, calls=self._calls))
            if self._told == STEPS_TOLD and self._hooks is not None:
                self._hooks.remove_group(GROUP)
        self._calls = []
        self._clipped.clear()

    def end(self) -> None:
        """Record no more, because calls go unseen from now on, and tell no counts."""
        self._told = STEPS_TOLD
        self._calls = []
        self._is_over = True

    def at_exit(self, step: int) -> None:
        """Write the calls after the last step, or all of them if no step was made, and their total counts."""
        if self._is_over:
            return
        if self._calls:
            self._write(StepCalls(step=step, calls=self._calls))
        if self.counts.get("step") or self.counts.get("backward"):
            for seen in self._metrics.events():
                self._write(seen)
            self._write(
                CallsCounted(step=step, counts=self.counts, schedulers=self._scheduler_calls)
            )

    def _note_switch(self, name: str, model: Any, frame: FrameType) -> None:
        sites = user_sites(frame, limit=1)
        switch = Switch(name, sites[0] if sites else None, self._position()[1])
        self._switches[id(model)] = (weakref.ref(model), switch)

    def _note_scheduler(self, scheduler: Any, frame: FrameType) -> None:
        index = self._schedulers.get(scheduler)
        if index is not None:
            self._scheduler_calls[index] += 1
            self._metrics.note(index, scheduler, frame, step=self._position()[0])
            return
        index = self._schedulers[scheduler] = len(self._scheduler_calls)
        self._scheduler_calls[index] = 1
        self._metrics.note(index, scheduler, frame, step=self._position()[0])
        sites: tuple[Site, ...] = user_sites(frame, limit=1)
        optimizer, steps = self._optimizer_of(getattr(scheduler, "optimizer", None))
        self._write(
            SchedulerSeen(
                index=index,
                kind=type(scheduler).__name__,
                step=self._position()[0],
                optimizer=optimizer,
                optimizer_steps=steps,
                settings=_settings(scheduler),
                position=_position(scheduler),
                location=span_of(sites[0]) if sites else None,
            )
        )

    def _watch(
        self,
        hooks: Hooks,
        protect: Callable[[str, Any], Any],
        holder: type,
        method: str,
        name: str | None = None,
    ) -> None:
        note = protect("call order probe", self.note)
        told = name or method

        def noted(instance: Any) -> None:
            frame = frame_at(2)
            is_torchs = layer_of(frame.f_code.co_filename) == "torch"
            if not is_torchs and is_written_out(frame.f_code, frame.f_lasti):
                note(told, frame, instance)

        stand_in = NotedOnAccess(getattr(holder, method), noted)
        hooks.replace(holder, method, stand_in, group=GROUP if told == "zero_grad" else "")


@functools.lru_cache(maxsize=512)
def is_written_out(code: CodeType, instruction: int) -> bool:
    """Tell whether the program looks an attribute up as `x.step` to call it, not by `hasattr(x, "step")`."""
    return dis.opname[code.co_code[instruction]].startswith("LOAD_")


def _settings(scheduler: Any) -> dict[str, float]:
    values = {name: vars(scheduler).get(name) for name in SETTINGS}
    return {name: float(value) for name, value in values.items() if isinstance(value, (int, float))}


def _position(scheduler: Any) -> int:
    position = vars(scheduler).get("last_epoch")
    return position if isinstance(position, int) else -1


def _noting_clip(
    function: Callable[..., Any], note: Callable[..., object], is_needed: Callable[[], bool]
) -> Callable[..., Any]:
    """Return the clipping function with a note of it; an infinite bound only measures and is not noted.

    As long as it is needed, the note has the identities of the parameters.
    """

    @functools.wraps(function)
    def clipping(*args: Any, **kwargs: Any) -> Any:
        bound = args[1] if len(args) > 1 else kwargs.get("max_norm", kwargs.get("clip_value"))
        if not isinstance(bound, (int, float)) or not math.isfinite(bound):
            return function(*args, **kwargs)
        told = f"{function.__name__}({bound:g})"
        if not args or not is_needed():
            note("clip", frame_at(1), None, told)
            return function(*args, **kwargs)
        clipped: set[int] = set()
        given = _told_of(args[0], clipped)
        try:
            return function(given, *args[1:], **kwargs)
        finally:
            note("clip", frame_at(1), None, told, clipped=clipped)

    return shown_as(clipping, function)


def _told_of(parameters: Any, clipped: set[int]) -> Any:
    """Return the parameters given to a clip, whose identities are added to `clipped`, at once or as it takes them."""
    if isinstance(parameters, GeneratorType):
        return _noting_each(parameters, clipped)
    known = [parameters] if isinstance(parameters, torch.Tensor) else parameters
    if type(known) in (list, tuple):
        clipped.update(map(id, known))
    return parameters


def _noting_each(parameters: Iterator[Any], clipped: set[int]) -> Iterator[Any]:
    for parameter in parameters:
        clipped.add(id(parameter))
        yield parameter
