"""The descriptors in C, if the accelerator was built and this torch gives access to its tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch

from torchwhy.observe.descriptors import Descriptors
from torchwhy.observe.native import records
from torchwhy.observe.probes import batches
from torchwhy.observe.probes.forwards import modes
from torchwhy.observe.steps import cruise, cruise_entry, random_state
from torchwhy.observe.torch_features.autograd_nodes import next_node_number
from torchwhy.observe.torch_features.mode_stack import dispatch_depth, function_depth, is_profiling
from torchwhy.observe.torch_features.module_parts import module_call_code
from torchwhy.observe.torch_features.tensor_parts import exchange_table
from torchwhy.record import step_log

if TYPE_CHECKING:
    from torchwhy.observe.parts import Parts


@functools.lru_cache(maxsize=1)
def is_ready() -> bool:
    """Give the accelerator what it needs of torch; False if it was not built or torch offers too little."""
    return records.fast is not None and records.fast.begin(
        exchange=exchange_table(),
        tensor=torch.Tensor,
        parameter=torch.nn.Parameter,
        clock=perf_counter,
        dispatch_depth=dispatch_depth,
        function_depth=function_depth,
        is_profiling=is_profiling,
        next_node_number=next_node_number,
        is_grad_enabled=torch.is_grad_enabled,
        is_neg=torch.Tensor.is_neg,
        module_call=module_call_code(),
        batch=batches.Batch,
    )


class NativeDescriptors(Descriptors):
    """The descriptors in C: ordinary events of a cruising loop never reach Python."""

    def __init__(
        self, parts: Parts, before_step: Callable[..., Any], after_step: Callable[..., Any]
    ) -> None:
        fast = records.fast
        native_cruise = fast.NativeCruise(
            cruise=parts.cruise,
            state=parts.state,
            batches=parts.batches,
            modes=parts.modes,
            log=parts.step_log,
            guests=parts.guests,
            before=before_step,
            after=after_step,
            rate_change=cruise_entry.RATE_CHANGE,
            most_bytes=batches.MOST_BYTES,
            batches_without_step=cruise.BATCHES_WITHOUT_STEP,
            lines_at_once=step_log.LINES_AT_ONCE,
            slots=step_log.SLOTS,
            still=random_state.STILL,
            seldom=random_state.SELDOM,
            inputs_compared=modes.INPUTS_COMPARED,
        )
        super().__init__(native_cruise.before_step, native_cruise.after_step)
        self.engine = lambda engine, note: fast.Engine(engine, note, native_cruise)
        self.read = lambda original, note, state: fast.Read(original, note, native_cruise, state)
        self.forward = lambda original, note, models: fast.Forward(
            original, note, native_cruise, models
        )
        self.assigned = lambda name, change: fast.Changed(None, change, native_cruise, name)
        self.index_note = lambda note: fast.IndexNote(None, note, native_cruise)


def descriptors_for(
    parts: Parts, before_step: Callable[..., Any], after_step: Callable[..., Any]
) -> Descriptors:
    """Return the descriptors for the probes of a process: in C if that was built, else in Python."""
    if is_ready():
        return NativeDescriptors(parts, before_step, after_step)
    return Descriptors(before_step, after_step)
