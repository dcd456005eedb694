"""Where a program without optimizer changes its weights: the line that wrote them between two backward passes."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from torchwhy.record.learning import ManualUpdate
from torchwhy.replay.microscope.expressions import span_in_module

if TYPE_CHECKING:
    import torch

    from torchwhy.replay.equipment import Stage

MOST_NODES = 20_000  # of the graph of one loss


class ManualUpdates:
    """Told at every backward pass; writes one event, at the first that finds its weights changed since the last."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._since: int | None = None
        self._is_told = False

    def before_backward(self, losses: list[torch.Tensor]) -> None:
        """Look who wrote the weights of these losses last."""
        microscope = self._stage.microscope
        if self._is_told or not microscope.is_on:
            return
        since, self._since = self._since, microscope.seen
        for leaf in _leaves(losses) if since is not None else []:
            entry = microscope.memory_writers.entry(leaf)
            writer = entry.last_operation if entry is not None else None
            site = writer.place() if writer is not None and writer.order > (since or 0) else None
            if site is not None:
                self._is_told = True
                step = self._stage.session.sentinel.step
                self._stage.session.write(
                    ManualUpdate(step=step, location=span_in_module(site, None))
                )
                return


def _leaves(losses: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return the tensors that the backward pass of these losses will give a gradient."""
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
