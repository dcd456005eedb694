"""In programs without an optimizer: is the gradient cleared between a manual update and the next backward pass?"""

from __future__ import annotations

import weakref
from types import FrameType

import torch

from torchwhy.observe.program.frames import span_of, user_sites
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import (
    gradient_of,
    has_versions,
    local_part,
    version_of,
)
from torchwhy.record.learning import StaleGradients

MOST_NODES = 2000  # of the graph of a loss, on the way to its leaves
LEAVES_WATCHED = 3  # code that clears one gradient clears all
BACKWARDS_WATCHED = 40  # a loop that clears its gradients so often does it always


class StaleManualGradientWatch:
    """Remembers a few leaves at each backward pass, and compares at the next one."""

    def __init__(self, recorder: Recorder, state: TrainingState) -> None:
        self._recorder = recorder
        self._state = state
        self._seen: list[tuple[weakref.ref[torch.Tensor], int, float]] = []
        self._backwards = 0
        self._times = 0
        self._cleared = False

    @unseen
    def before_backward(self, roots: list[torch.Tensor], frame: FrameType | None) -> None:
        """Report a leaf that changed since the last backward pass and still has the gradient it was changed by."""
        self._backwards += 1
        if self._backwards > BACKWARDS_WATCHED or not has_versions:
            self._seen.clear()
            return
        updated = [
            leaf
            for reference, version, value in self._seen
            if (leaf := reference()) is not None
            and (version_of(leaf), _first(leaf)) != (version, value)
        ]
        stale = [
            leaf
            for leaf in updated
            if (gradient := gradient_of(leaf)) is not None and bool((gradient != 0).any().item())
        ]
        leaves = leaves_of(roots)
        if updated and not stale:
            self._cleared = True
        elif any(leaf is other for leaf in stale for other in leaves):
            self._times += 1
            if self._times <= 4 or self._times & (self._times - 1) == 0:
                self._tell(frame)
        self._seen = [(weakref.ref(leaf), version_of(leaf), _first(leaf)) for leaf in leaves]

    def _tell(self, frame: FrameType | None) -> None:
        sites = user_sites(frame, limit=1)
        step = self._state.step
        self._recorder.write(
            StaleGradients(
                step=step,
                optimizer=-1,
                used_at_step=step - 1,
                times=self._times,
                cleared_ever=self._cleared,
                location=span_of(sites[0]) if sites else None,
            )
        )


def leaves_of(roots: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return a few of the tensors that the backward pass of these losses will give a gradient."""
    waiting = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen = set(waiting)
    leaves: list[torch.Tensor] = []
    while waiting and len(seen) < MOST_NODES and len(leaves) < LEAVES_WATCHED:
        node = waiting.pop()
        variable = getattr(node, "variable", None)
        if (
            variable is not None
            and variable.numel()
            and variable.layout is torch.strided
            and not variable.is_complex()
        ):
            leaves.append(variable)
        for below, _ in node.next_functions:
            if below is not None and below not in seen:
                seen.add(below)
                waiting.append(below)
    return leaves


def _first(leaf: torch.Tensor) -> float:
    values = local_part(leaf).detach().flatten()
    return float(values[0].item()) if values.numel() else 0.0
