"""What fed what in earlier steps of an observation, while several optimizers make their first steps in turn.

A generator runs in the discriminator's step, and gets no gradient in its own if that output was detached.
"""

from __future__ import annotations

import copy

from torchwhy.replay.microscope.operations import Operation

MOST_KEPT = 4000  # operations of earlier steps


class EarlierSteps:
    """Keeps the forward operations of steps that are over: each knows what fed it, none keeps a tensor alive."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def keep(self, operations: list[Operation]) -> None:
        """Add the forward operations of a step that ends."""
        copies: dict[int, Operation] = {one.order: one for one in self.operations}
        for operation in operations:
            if operation.phase == "forward":
                kept = copies[operation.order] = copy.copy(operation)
                kept.kept = kept.call = kept.forward = None
                kept.inputs = tuple(_copied(one, copies) for one in operation.inputs)
                kept.through = tuple(_copied(one, copies) for one in operation.through)
        self.operations = list(copies.values())[-MOST_KEPT:]

    def clear(self) -> None:
        """Forget them: the observation is over."""
        self.operations = []


def _copied(operation: Operation | None, copies: dict[int, Operation]) -> Operation | None:
    return None if operation is None else copies.get(operation.order, operation)
