"""Finds the line at which a program without an optimizer updates its weights."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.record.learning import ManualUpdate
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.replay.microscope.expressions import span_in_module

if TYPE_CHECKING:
    import torch

MOST_NODES = 20_000  # of the graph of one loss


class ManualUpdates:
    """Writes one event, at the first backward pass whose weights an operation wrote since the last one."""

    def __init__(self, microscope: Microscope, recorder: Recorder, state: TrainingState) -> None:
        self._microscope = microscope
        self._recorder = recorder
        self._state = state
        self._since: int | None = None
        self._is_told = False

    def before_backward(self, losses: list[torch.Tensor]) -> None:
        """Look up the operations that wrote the weights of these losses last."""
        microscope = self._microscope
        if self._is_told or not microscope.is_on:
            return
        since, self._since = self._since, microscope.seen
        for leaf in _leaves(losses) if since is not None else []:
            entry = microscope.memory_writers.entry(leaf)
            writer = entry.last_operation if entry is not None else None
            site = writer.place() if writer is not None and writer.order > (since or 0) else None
            if site is not None:
                self._is_told = True
                self._recorder.write(
                    ManualUpdate(step=self._state.step, location=span_in_module(site, None))
                )
                return


def _leaves(losses: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return the leaves that the backward pass of these losses gives a gradient."""
    waiting = deque(loss.grad_fn for loss in losses if loss.grad_fn is not None)
    seen = set(waiting)
    leaves = []
    while waiting and len(seen) < MOST_NODES:
        node = waiting.popleft()
        if hasattr(node, "variable"):
            leaves.append(node.variable)
        for below, _ in node.next_functions:
            if below is not None and below not in seen:
                seen.add(below)
                waiting.append(below)
    return leaves
