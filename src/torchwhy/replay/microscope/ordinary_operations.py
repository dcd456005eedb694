"""Gives the accelerator what it needs to note ordinary operations of a forward pass as `Microscope._look` does.

An operation is ordinary if it writes into no argument and nothing is measured of its operands. If one turns out not to
be, because a value is not finite or a tensor is none of torch's own on the CPU, the microscope looks at it as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchwhy.observe.native.native_descriptors import is_ready
from torchwhy.observe.native.records import fast
from torchwhy.observe.torch_features.autograd_nodes import current_node, root_gradients_code
from torchwhy.observe.torch_features.tensor_parts import weak_reference
from torchwhy.replay.graph.unit_activity import ACTIVATIONS
from torchwhy.replay.microscope import memory_writers, step_operations, write_log
from torchwhy.replay.microscope.forward_notes import (
    DIFFERENCES,
    KEEPS_ARGUMENTS,
    LOSS_OPERATIONS,
    SIGNS,
)
from torchwhy.replay.microscope.operations import (
    Operation,
    OperationInfo,
    info_of,
    name_of_dtype,
)
from torchwhy.replay.samples.operands import CHOOSING, DataOperand

if TYPE_CHECKING:
    from torchwhy.replay.microscope.dispatch_mode import Microscope

READS = {"_local_scalar_dense", "item"}
MEASURED = LOSS_OPERATIONS | DIFFERENCES | CHOOSING | READS | SIGNS | {"nan_to_num"}
# Bits of a plan, as in ordinary_operations.c.
IS_VIEW, IS_MASKED, IS_PRODUCT, IS_ACTIVATION, IS_LEFT_TO_PYTHON, IS_EMPTY = 1, 2, 4, 8, 16, 32
IS_DETACH = 64


class NoneAreOrdinary:
    """Stands in without the accelerator: the microscope looks at every operation itself."""

    seconds = 0.0

    def run(self, function: Any, args: Any, kwargs: Any) -> Any:  # noqa: ARG002 - as in C
        """Run an ordinary operation; in Python, none."""
        return NotImplemented


def new_ordinary_operations(microscope: Microscope, elements_of_work: int) -> Any:
    """Return what runs ordinary operations: in C if that was built and can read tensors."""
    if not is_ready():
        return NoneAreOrdinary()
    return fast.OrdinaryOperations(
        microscope=microscope,
        backward_log=microscope.backward_log,
        state=microscope.state,
        births=microscope.nonfinite_log.births,
        waiting=microscope.before_next,
        look=microscope.look_again,
        plan_of=plan_of,
        weak=weak_reference(),
        current_node=current_node,
        root_gradients=root_gradients_code(),
        operation=Operation,
        entry=memory_writers.Entry,
        writers=microscope.memory_writers,
        data_operand=DataOperand,
        name_of_dtype=name_of_dtype,
        elements_of_work=elements_of_work,
        most_operations=step_operations.MOST_OPERATIONS,
        most_records=write_log.MOST_RECORDS,
        most_entries=memory_writers.MOST_ENTRIES,
        **microscope.tables(),
    )


def plan_of(function: Any) -> tuple[OperationInfo, int]:
    """Return what an operation is, and what has to be noted of it."""
    info = info_of(function)
    if info.base == "detach":
        return info, IS_DETACH
    is_other = info.is_ignored or info.writes or info.is_of_lists or info.is_collective
    if is_other or info.base in MEASURED:
        return info, IS_LEFT_TO_PYTHON
    kinds = (
        (IS_VIEW, info.is_view and not info.is_creating),
        (IS_MASKED, info.base in KEEPS_ARGUMENTS),
        (IS_PRODUCT, info.base == "mul"),
        (IS_ACTIVATION, info.base in ACTIVATIONS),
        (IS_EMPTY, info.is_empty),
    )
    return info, sum(bit for bit, applies in kinds if applies)
