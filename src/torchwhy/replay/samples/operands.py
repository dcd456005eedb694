"""Notes of each operation which memory its data operands lie in, and which rows it chooses of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import torch

from torchwhy.observe.torch_features.tensor_parts import has_values
from torchwhy.replay.samples.given_batches import GivenBatch, Leaf

CHOOSING = {"index", "index_select"}  # operations that take rows of a tensor by an index
MOST_CHOSEN = 65_536  # rows of one such choice that are remembered
# Operations after which row i of the result need not be sample i, with the argument that names the dimension.
REORDERING = {
    "cat": 1, "stack": 1, "flip": 1, "roll": 2, "repeat": 1, "sort": 1, "topk": 2, "gather": 1, "masked_select": 1,
}  # fmt: skip


class DataOperand(NamedTuple):
    """An operand that autograd does not track: where it lies, and the batch that it is a part of, if any.

    `step` is the distance of two rows in bytes, `extent` the bytes from the first to the last element of one row.
    """

    position: int
    address: int
    size: int
    step: int
    extent: int
    dimensions: int
    given: tuple[GivenBatch, Leaf] | None

    @property
    def end(self) -> int:
        """Return the address behind its last element."""
        return self.address + (self.size - 1) * self.step + self.extent

    def unfolded(self, step: int) -> DataOperand:
        """Return it with rows that are `step` bytes apart, if each of these is several of its own, side by side.

        A linear layer sees a batch of sentences as a list of words.
        """
        fold = step // self.step if self.step > 0 and step % self.step == 0 else 1
        if fold < 2 or self.size % fold or self.extent > self.step:
            return self
        extent = (fold - 1) * self.step + self.extent
        return self._replace(size=self.size // fold, step=step, extent=extent)


class Memory(Protocol):
    """A tensor with rows."""

    @property
    def address(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def step(self) -> int: ...


def rows_within(operand: DataOperand, whole: Memory) -> tuple[int, ...] | None:
    """Return which rows of a tensor an operand consists of; None if it is no selection of rows."""
    if whole.step <= 0:
        return None
    first, inside = divmod(operand.address - whole.address, whole.step)
    apart, rest = divmod(operand.step, whole.step) if operand.size > 1 else (1, 0)
    if rest or apart <= 0 or inside + operand.extent > whole.step:
        return None
    rows = tuple(first + apart * place for place in range(operand.size))
    return rows if rows[-1] < whole.size else None


def data_operands(
    given: Sequence[torch.Tensor],
    batch_at: Callable[[int], tuple[GivenBatch, Leaf] | None],
) -> tuple[DataOperand, ...]:
    """Return the operands of an operation that may hold samples: no parameters, nothing that autograd tracks."""
    found = []
    for position, tensor in enumerate(given):
        if tensor.requires_grad or not tensor.dim() or tensor.layout is not torch.strided:
            continue
        if isinstance(tensor, torch.nn.Parameter) or not tensor.numel() or not has_values(tensor):
            continue
        address = tensor.data_ptr()
        strides, width = tensor.stride(), tensor.element_size()
        inner = zip(tensor.shape[1:], strides[1:], strict=True)
        extent = (1 + sum((size - 1) * stride for size, stride in inner)) * width
        found.append(
            DataOperand(
                position,
                address,
                tensor.shape[0],
                strides[0] * width,
                extent,
                tensor.dim(),
                batch_at(address),
            )
        )
    return tuple(found)


def chosen_rows(base: str, args: Any) -> tuple[int, ...] | None:
    """Return the rows that an operation takes of its first argument; None if it takes none by an index."""
    if base not in CHOOSING or not isinstance(args[0], torch.Tensor) or args[0].requires_grad:
        return None
    by_rows = args[1] == 0 if base == "index_select" else len(args[1]) == 1
    index = args[2] if base == "index_select" else args[1][0]
    if not by_rows or not isinstance(index, torch.Tensor) or index.dim() != 1:
        return None
    if index.numel() > MOST_CHOSEN:
        return None
    if index.dtype is torch.bool:
        index = index.nonzero().reshape(-1)
    rows = args[0].shape[0]
    return tuple(int(row) % rows for row in index.tolist()) if rows else None
