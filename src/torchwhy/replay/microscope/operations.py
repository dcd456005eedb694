"""What is known of an aten operation from its schema: is its result a view, which arguments does it write?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch

from torchwhy.observe.program.frames import Site
from torchwhy.observe.torch_features.torch_internals import schema_of
from torchwhy.plain_data import dataclass
from torchwhy.record.tensors import TensorFacts
from torchwhy.replay.samples.operands import DataOperand

# Factories that return uninitialised memory by design: no births, but no values either.
EMPTY = {
    "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted", "resize_",
}  # fmt: skip
# In-place operations that do not read what they overwrite.
OVERWRITING = {
    "copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_", "cauchy_",
    "geometric_", "log_normal_", "set_", "_foreach_zero_", "_foreach_copy_",
}  # fmt: skip
# Operations that turn Python or NumPy constants into tensors.
CREATING = {
    "lift_fresh", "lift_fresh_copy", "full", "full_like", "new_full", "scalar_tensor", "fill_", "fill",
    "arange", "linspace",
}  # fmt: skip
# Operations that also update running statistics among their arguments; most schemas do not say so.
KEEPING_STATISTICS = {
    "native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update", "cudnn_batch_norm",
    "miopen_batch_norm",
}  # fmt: skip
STATISTICS = ("running_mean", "running_var")
# What other ranks send arrives while the program goes on, so what such an operation returns cannot be read yet.
COLLECTIVE = ("c10d", "_c10d_functional", "c10d_functional", "_c10d_functional_autograd")
# No arithmetic, so no births, and too frequent to look at.
IGNORED = {
    "detach",
    "detach_",
    "alias",
    "_record_function_enter_new",
    "_record_function_exit",
    "set_data",
}


@dataclass(frozen=True)
class OperationInfo:
    """One overload: `writes` are the positions and names of the arguments it changes in place."""

    name: str
    base: str
    is_view: bool
    is_empty: bool
    is_creating: bool
    is_overwriting: bool
    is_ignored: bool
    keeps_statistics: bool
    is_of_lists: bool
    writes: tuple[tuple[int, str], ...]
    is_ordinary: bool  # neither ignored nor writing, and no other rank takes part: in a backward pass it is only logged
    keeps_memory: bool  # its result has memory of its own
    is_collective: bool  # other ranks send a part of its result


@lru_cache(maxsize=8192)
def info_of(function: Any) -> OperationInfo:
    """Return what the schema of an overload says, computed once."""
    schema = schema_of(function)
    name = str(function)
    parts = name.split(".")
    base = parts[1] if len(parts) > 1 else name
    # Reading the arguments of a schema costs more than all the rest, and most operations write none.
    is_read = base in KEEPING_STATISTICS or getattr(schema, "is_mutable", False)
    arguments = list(schema.arguments) if schema is not None and is_read else []
    writes = tuple(
        (position, argument.name)
        for position, argument in enumerate(arguments)
        if (argument.alias_info is not None and argument.alias_info.is_write)
        or (base in KEEPING_STATISTICS and argument.name in STATISTICS)
    )
    is_out = any(written == "out" for _, written in writes) or name.endswith("out")
    is_view, is_creating = bool(getattr(function, "is_view", False)), base in CREATING
    is_ignored = base in IGNORED or parts[0] in ("profiler", "prim")
    is_collective = parts[0] in COLLECTIVE and base != "wait_tensor"
    return OperationInfo(
        name=name,
        base=base,
        is_view=is_view,
        is_empty=base in EMPTY,
        is_creating=is_creating,
        is_overwriting=base in OVERWRITING or is_out,
        is_ignored=is_ignored,
        keeps_statistics=base in KEEPING_STATISTICS,
        is_of_lists=base.startswith(("_foreach_", "_fused_")),
        writes=writes,
        is_ordinary=not (is_ignored or is_collective or writes),
        keeps_memory=not is_view or is_creating,
        is_collective=is_collective,
    )


class Operation:
    """One operation that ran: where, in which module and phase, and which operations fed it."""

    # Class attributes, because most operations never set their own: none of these may be changed in place.
    sites: tuple[Site, ...] = ()
    outer: tuple[Site, ...] = ()
    issuer = "user"
    within: tuple[Site, ...] = ()
    module: str | None = None
    node: str | None = None
    node_number: int | None = None
    forward: Operation | None = None
    inputs: tuple[Operation | None, ...] = ()
    births: frozenset[int] = frozenset()
    # Of a tensor of booleans: the births whose bad values it marks, and those whose NaN were compared.
    tested: frozenset[int] = frozenset()
    compared: frozenset[int] = frozenset()
    phase = "forward"
    parameter: str | None = None
    kept: tuple[Any, ...] | None = None
    call: tuple[Any, Any, Any] | None = None
    shape: Sequence[int] = ()
    dtype = ""
    input_shapes: Sequence[list[int]] = ()
    leaves: Sequence[str] = ()
    scalars: Sequence[tuple[str, Any]] = ()
    facts: Sequence[TensorFacts] = ()
    # Of each operand: does autograd track it, which parameter is it, and which view.
    tracked: Sequence[bool] = ()
    parameter_ids: Sequence[int | None] = ()
    through: tuple[Operation | None, ...] = ()
    grad_mode = True
    # The operands that may hold samples, and the rows that are taken of the first one.
    data_operands: Sequence[DataOperand] = ()
    chosen: tuple[int, ...] | None = None

    def __init__(self, order: int, info: OperationInfo, step: int) -> None:
        self.order = order
        self.info = info
        self.step = step

    def let_go(self) -> None:
        """Release everything that keeps tensors or other operations alive; place and numbers stay."""
        self.inputs, self.kept, self.call, self.forward, self.through = (), None, None, None, ()

    def place(self) -> Site | None:
        """Return the user's place to blame: its own, or in backward that of the differentiated operation."""
        if self.sites:
            return self.sites[0]
        if self.forward is not None:
            return self.forward.place()
        return self.outer[0] if self.outer else None


@lru_cache(maxsize=64)
def name_of_dtype(dtype: torch.dtype) -> str:
    """Return `float32` for torch.float32."""
    return str(dtype).removeprefix("torch.")


def dtype_name(tensor: torch.Tensor) -> str:
    """Return `float32` for a tensor of torch.float32."""
    return name_of_dtype(tensor.dtype)


def tensors_in(values: Any) -> list[torch.Tensor]:
    """Return the tensors among arguments, also those inside lists of them."""
    found: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found.extend(item for item in value if isinstance(item, torch.Tensor))
    return found
