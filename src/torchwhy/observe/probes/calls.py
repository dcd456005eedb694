"""The order of calls in the first steps: zero_grad, backward, clip, unscale, step, scheduler, train, eval."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.optim import lr_scheduler

from torchwhy.observe.frames import layer_of, span_of, user_sites
from torchwhy.observe.hooks import Hooks
from torchwhy.observe.probes.access import NotedOnAccess
from torchwhy.record.events import Event
from torchwhy.record.learning import CallSeen, StepCalls

STEPS_TOLD = 6  # optimizer steps whose order of calls is written down; a loop repeats itself
MOST_CALLS = 64  # calls told of per step; a loop that calls more is told of in part


class CallOrder:
    """Keeps the calls since the last step; silent after the first steps, when a note costs one comparison."""

    def __init__(self, write: Callable[[Event], None]) -> None:
        self._write = write
        self._calls: list[CallSeen] = []
        self._told = 0
        self.counts: dict[str, int] = {}

    def install(self, hooks: Hooks, protect: Callable[[str, Any], Any]) -> None:
        """Watch the methods whose order matters."""
        optimizer, module = torch.optim.Optimizer, torch.nn.Module
        self._watch(hooks, protect, optimizer, "zero_grad")
        self._watch(hooks, protect, module, "zero_grad")
        self._watch(hooks, protect, module, "train")
        self._watch(hooks, protect, module, "eval")
        for scheduler in (lr_scheduler.LRScheduler, lr_scheduler.ReduceLROnPlateau):
            self._watch(hooks, protect, scheduler, "step", name="scheduler")

    def note(self, name: str, frame: FrameType | None, target: str | None = None) -> None:
        """Note one call made at `frame`; those that torch makes by itself are left out."""
        if frame is None or layer_of(frame.f_code.co_filename) == "torch":
            return
        self.counts[name] = self.counts.get(name, 0) + 1
        if self._told < STEPS_TOLD and len(self._calls) < MOST_CALLS:
            sites = user_sites(frame, limit=1)
            self._calls.append(CallSeen(name=name, location=span_of(sites[0]) if sites else None, target=target))

    def note_inner(self, name: str, frame: FrameType | None) -> None:
        """Note a call that torch's own code makes for the user: backward, step."""
        while frame is not None and layer_of(frame.f_code.co_filename) == "torch":
            frame = frame.f_back
        self.note(name, frame)

    def end_step(self, step: int) -> None:
        """Write the calls of a step down."""
        if self._told < STEPS_TOLD:
            self._told += 1
            self._write(StepCalls(step=step, calls=self._calls))
        self._calls = []

    def at_exit(self, step: int) -> None:
        """Write what was called after the last step, or at all when no step was made."""
        if self._calls:
            self._write(StepCalls(step=step, calls=self._calls))

    def _watch(
        self, hooks: Hooks, protect: Callable[[str, Any], Any], holder: type, method: str, name: str | None = None
    ) -> None:
        note = protect("call order probe", self.note)

        def noted(instance: Any) -> None:
            note(name or method, sys._getframe(2), type(instance).__name__)

        hooks.replace(holder, method, NotedOnAccess(getattr(holder, method), noted))
