"""The operations of the current step, by the order in which they ran and by the autograd node they recorded."""

from __future__ import annotations

from typing import Any

import torch

from torchwhy.replay.microscope.operations import Operation

MOST_OPERATIONS = 60_000  # beyond, the older half is forgotten
MOST_HELD = 16_000_000  # elements of the program's tensors that a step may keep alive longer
FEW = 4096  # the same for one operation outside of autograd: in data code and evaluation


class StepOperations:
    """Cleared after each step, so that it keeps no tensor of the program alive."""

    def __init__(self) -> None:
        self._operations: list[Operation] = []
        self._by_node_number: dict[int, Operation] = {}
        self._held = 0

    def tables(self) -> dict[str, Any]:
        """Return where operations are kept, for the accelerator."""
        return {"operations": self._operations, "by_node_number": self._by_node_number}

    def add(self, operation: Operation) -> None:
        """Keep an operation until the step is over."""
        if len(self._operations) >= MOST_OPERATIONS:
            del self._operations[: MOST_OPERATIONS // 2]
            for number in sorted(self._by_node_number)[: len(self._by_node_number) // 2]:
                del self._by_node_number[number]
        self._operations.append(operation)

    def note_nodes(self, operation: Operation, first: int, end: int) -> None:
        """Note that an operation recorded the autograd nodes from number `first` up to `end`."""
        for number in range(first, end):
            self._by_node_number[number] = operation

    def of_node(self, node_number: int) -> Operation | None:
        """Return the operation that recorded an autograd node."""
        return self._by_node_number.get(node_number)

    def all(self) -> list[Operation]:
        """Return the operations so far, oldest first."""
        return list(self._operations)

    def forward(self) -> list[Operation]:
        """Return the operations outside of backward passes so far, oldest first."""
        return [operation for operation in self._operations if operation.node is None]

    def may_hold(self, operation: Operation, given: list[torch.Tensor]) -> bool:
        """Tell whether the operands may be kept until the step is over: few, outside of autograd very few."""
        elements = sum(tensor.numel() for tensor in given)
        most = MOST_HELD if operation.node_number is not None else FEW
        if elements > most or self._held + elements > MOST_HELD:
            return False
        self._held += elements
        return True

    def clear(self) -> None:
        """Release all operations."""
        for operation in self._operations:
            operation.let_go()
        self._held = 0
        self._operations.clear()
        self._by_node_number.clear()
