"""The dispatch mode: sees every operation of a step, what fed it, and the first non-finite value.

A step under it takes as long as a few bare ones, so it is on for the first step and for a failing one only. It never
changes a value: it looks at the arguments and results of an operation with modes off and outside of autograd.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from torchwhy.observe.guest import Guests
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features import mode_stack
from torchwhy.observe.torch_features.autograd_nodes import (
    current_node,
    next_node_number,
    number_of_node,
)
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.resolve import is_there
from torchwhy.observe.torch_features.tensor_parts import is_of_ranks, storage_key
from torchwhy.replay.microscope import backward_log
from torchwhy.replay.microscope.arguments import can_look, is_shapeless, operands_of, written_by
from torchwhy.replay.microscope.call_sites import CallSite, call_site
from torchwhy.replay.microscope.forward_notes import CUTS, ForwardNotes
from torchwhy.replay.microscope.memory_writers import MemoryWriters, with_copies
from torchwhy.replay.microscope.module_stack import ModuleStack
from torchwhy.replay.microscope.operations import (
    Operation,
    OperationInfo,
    dtype_name,
    info_of,
    tensors_in,
)
from torchwhy.replay.microscope.ordinary_operations import READS, new_ordinary_operations
from torchwhy.replay.microscope.step_operations import StepOperations
from torchwhy.replay.microscope.write_log import WriteLog
from torchwhy.replay.nonfinite.lineage import Lineage
from torchwhy.replay.nonfinite.nonfinite_log import Call, NonfiniteLog
from torchwhy.replay.nonfinite.underflow import is_difference, is_worth_keeping
from torchwhy.replay.observing.pausable_mode import PausableMode
from torchwhy.replay.samples.given_batches import GivenBatch, Leaf
from torchwhy.replay.untrained.taken_values import TakenValues

MODE_NEEDS = ("dispatch-mode", "dispatch-stack", "operator-schema")
NEEDS = (*MODE_NEEDS, "node-numbers", "current-node", "memory")
SECONDS_OF_THE_WAY = 8e-6  # torch takes so long to bring an operation to Python and back
ELEMENTS_OF_WORK = 2**17  # reading so many takes as long as the rest of a look
MOST_FORWARDS = 64  # beginnings of forward passes remembered


class Microscope(PausableMode):
    """Sees operations. `enter` and `leave` are safe to call any time.

    `failed` is called with a fault of ours, `over_limit` when the work for looking is used up, `on_forward` and
    `on_clip` with the operations of these phases.
    """

    def __init__(
        self,
        nonfinite_log: NonfiniteLog,
        memory_writers: MemoryWriters,
        modules: ModuleStack,
        *,
        state: TrainingState,
        guests: Guests,
        failed: Callable[[BaseException], None],
        over_limit: Callable[[], None],
        on_forward: Callable[[Operation, torch.Tensor], object],
        on_clip: Callable[[Operation], object],
        batch_at: Callable[[int], tuple[GivenBatch, Leaf] | None],
    ) -> None:
        super().__init__()
        self.nonfinite_log = nonfinite_log
        self.modules = modules
        self.memory_writers = memory_writers
        self.state = state
        self._guests = guests
        self._failed = failed
        self._over_limit = over_limit
        self._on_forward = on_forward
        self._on_clip = on_clip
        self.lineage = Lineage(nonfinite_log, memory_writers)
        self.writes = WriteLog()
        self.before_next: list[Callable[[], object]] = []  # called once, before the next operation
        self.when_raised: Callable[[], object] = lambda: None  # an operation raised an exception
        self.logs_briefly = False  # operations of torch's own work, see backward_log.py
        self.step = 0
        self.next_step = 0  # of operations after a backward pass that ends a step
        self.call_site_of_update: tuple[object, CallSite] | None = None
        self.without_graph = 0  # operations seen while no graph was recorded
        self.missed_update = False  # an optimizer wrote during a pause
        self.own_seconds = 0.0
        self.seen = 0
        self.work = 0  # operations looked at thoroughly; those on large tensors count several times
        self.limit: float = math.inf  # of work
        self.notes = ForwardNotes(batch_at)
        self.taken = TakenValues(nonfinite_log, memory_writers, self.notes)
        self.used_parameters = self.notes.used_parameters
        self._ran = StepOperations()
        self.forwards: list[tuple[int, bool]] = []
        self.can_look = all(map(is_there, NEEDS))
        self.backward_log = backward_log.new_backward_log(self)
        self._ordinary = new_ordinary_operations(self, ELEMENTS_OF_WORK)

    @property
    def seconds(self) -> float:
        """Return our own time so far, without the operations themselves."""
        on_the_way = self.seen * SECONDS_OF_THE_WAY
        in_c = float(self.backward_log.seconds + self._ordinary.seconds)
        return self.own_seconds + in_c + on_the_way

    def tables(self) -> dict[str, Any]:
        """Return where operations are noted, for the accelerator."""
        return {
            "on_forward": self._on_forward,
            **self.modules.tables(),
            **self.notes.tables(),
            **self._ran.tables(),
            **self.writes.tables(),
        }

    def enter(self) -> None:
        """Start looking."""
        if self.is_on or not self.can_look:
            return
        self.is_on = True
        self.modules.install()
        self._put_on()

    def leave(self) -> None:
        """Stop looking at once; from inside an operation the mode itself goes with the next `tidy`."""
        self.is_asleep = False
        if self.is_on:
            self.is_on = False
            self.modules.remove()
            self._forget()
        self.tidy()

    def begin_step(self, step: int) -> None:
        """Forget the operations of the step before; births and memory writers stay."""
        self.step = self.next_step = step
        self._forget()

    def begin_anew(self) -> None:
        """Forget everything but bad values: operations ran unseen since the last observation."""
        self.memory_writers.begin_anew()
        self.used_parameters.clear()
        self.forwards.clear()
        self.without_graph, self.missed_update = 0, False

    def _forget(self) -> None:
        """Release the operations, so that they keep no tensor of the program alive."""
        self.backward_log.take()
        self._ran.clear()
        self.notes.forget()

    def forward_begins(self, module: torch.nn.Module) -> None:
        """Note which operation will be the first of an outermost module's call."""
        has_weights = next(module.parameters(), None) is not None
        if has_weights or not self.forwards:
            self.forwards[:] = [*self.forwards[-MOST_FORWARDS:], (self.seen, has_weights)]

    def operation_of(self, tensor: torch.Tensor) -> Operation | None:
        """Return the forward operation of this step that made a tensor, views included; None if it has no graph."""
        node = tensor.grad_fn
        return None if node is None else self._ran.of_node(number_of_node(node))

    def operations(self) -> list[Operation]:
        """Return what ran in this step so far, oldest first."""
        backward_log.restore_operations(self)
        return self._ran.all()

    def forward_operations(self) -> list[Operation]:
        """Return what ran in this step outside of backward passes, oldest first."""
        return self._ran.forward()

    def operations_after(self, operation: Operation) -> list[Operation]:
        """Return what ran after an operation in this step, oldest first."""
        return [later for later in self.operations() if later.order > operation.order]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if types and any(map(is_of_ranks, types)):
            return NotImplemented  # it becomes operations on what this rank holds, which come here
        if self.is_asleep:
            return self._run_asleep(func, args, kwargs or {})
        if self.logs_briefly and self.is_on:
            result = self.backward_log.run(func, args, kwargs)
            if result is not NotImplemented:
                return result
        if self.is_on:
            try:
                result = self._ordinary.run(func, args, kwargs)
            except Exception:
                self.when_raised()
                raise
            if result is not NotImplemented:
                return result
        return self._run_and_look(func, args, kwargs or {})

    def _run_and_look(self, func: Any, args: Any, kwargs: Any) -> Any:
        if not self.is_on:
            self.leave_late()
            return self.run(func, args, kwargs)
        if self.before_next:
            self.before_next.pop()()
        info = info_of(func)
        if info.is_ignored:
            result = self.run(func, args, kwargs)
            if info.base in CUTS and args[0].requires_grad:
                self._note_cut(info, args[:1], result)
            return result
        try:
            overwrites = info.writes and not info.is_overwriting
            before = with_copies(self.memory_writers, info, args, kwargs) if overwrites else None
        except Exception as problem:
            self._failed(problem)
            return self.run(func, args, kwargs)
        try:
            result = self.run(func, args, kwargs)
        except Exception:
            self.when_raised()
            raise
        self._seen(info, (func, args, kwargs), result, before=before)
        return result

    def _run_asleep(self, func: Any, args: Any, kwargs: Any) -> Any:
        self.leave_late()
        if self.before_next:
            self.before_next.pop()()
        try:
            return self.run(func, args, kwargs)
        except Exception:
            self.when_raised()
            raise

    def look_again(
        self, info: OperationInfo, func: Any, args: Any, kwargs: Any, result: Any
    ) -> None:
        """Look at an operation that the accelerator ran and that was not ordinary."""
        self._seen(info, (func, args, kwargs or {}), result, before=None)

    def _seen(self, info: OperationInfo, call: Call, result: Any, *, before: Any) -> None:
        began = time.thread_time() - self._guests.seconds
        try:
            if not (self.logs_briefly and backward_log.log_briefly(self, info, call, result)):
                self._look(info, call, result, before=before)
            self.own_seconds += time.thread_time() - self._guests.seconds - began
            if self.work > self.limit:
                self._over_limit()
        except Exception as problem:
            self._failed(problem)

    @mode_stack.unseen
    def _look(self, info: OperationInfo, call: Call, result: Any, *, before: Any) -> None:
        func, args, kwargs = call
        backward_log.restore_operations(self)
        self.seen, self.work = self.seen + 1, self.work + 1
        given = tensors_in((*args, *kwargs.values()) if kwargs else args)
        if info.base in READS:
            self.taken.by_read(given)
            if any(tensor.requires_grad for tensor in given):
                self._note_cut(info, given, None)
            return
        written = written_by(info, args, kwargs) if info.writes else []
        results = tensors_in(result if isinstance(result, (list, tuple)) else (result,))
        outputs = results + written if info.keeps_statistics else written or results
        if any(map(is_shapeless, (*given, *outputs))):
            return  # most of what follows is undefined
        operation = self._remember(info, given, args)
        self.writes.ran(operation, given + outputs, [] if info.keeps_statistics else written)
        if outputs:
            operation.shape, operation.dtype = list(outputs[0].shape), dtype_name(outputs[0])
        self.taken.by_operation(operation, given)
        if info.is_collective:
            self.lineage.received(operation, outputs or given, given)
            return
        if info.is_view and not info.is_creating:
            if operation.node is None:
                self.notes.viewed(operation, outputs)
            return
        for position, output in enumerate(outputs):
            if not can_look(output):
                self.notes.wrote_other(operation, output)
                continue
            self.work += output.numel() // ELEMENTS_OF_WORK
            births: frozenset[int] = frozenset()
            if not info.is_empty:
                arguments, keywords = (args, kwargs) if before is None else before
                if info.writes or info.is_of_lists:
                    given = operands_of(position, arguments, keywords, info)
                births = self.lineage.births_in(
                    operation, (func, arguments, keywords), output, given
                )
            operation.births |= births
            if self._wants_call(operation, output, given):
                operation.call = (func, *((args, kwargs) if before is None else before))
            self.memory_writers.wrote(output, operation, births)
            if operation.node is None and position == 0 and operation.phase == "forward":
                self._on_forward(operation, output)
        if operation.phase == "clip":
            self._on_clip(operation)

    def _wants_call(
        self, operation: Operation, output: torch.Tensor, given: list[torch.Tensor]
    ) -> bool:
        return (
            operation.node is None
            and (is_difference(operation, output) or is_worth_keeping(output))
            and self._ran.may_hold(operation, given)
        )

    def source_of(self, tensor: torch.Tensor) -> frozenset[int]:
        """Return the births of a bad tensor that is no operand: a loss, a gradient, a weight."""
        known = self.memory_writers.births_of(tensor)
        if known:
            return known
        ran = self.operations()
        return self.lineage.sources(tensor, ran[-1]) if ran else frozenset()

    def _remember(self, info: OperationInfo, given: list[torch.Tensor], args: Any) -> Operation:
        operation = Operation(self.seen, info, self.step)
        called_from = call_site(frame_at(3))
        operation.sites, operation.outer = called_from.sites, called_from.outer
        operation.issuer, operation.within = called_from.issuer, called_from.within
        node = current_node()
        if node is None:
            self.without_graph += not torch.is_grad_enabled()
            operation.step = self.next_step
            operation.module = self.modules.path
            operation.phase = self._phase(called_from.part)
        else:
            self.place_in_backward(operation, node.name(), number_of_node(node))
            operation.module = self.modules.path or operation.module
            if called_from.part in ("clip", "optim"):
                operation.phase = self._phase(called_from.part)
            if operation.node == "AccumulateGrad":
                operation.parameter = self.nonfinite_log.name_of(getattr(node, "variable", None))
        node_number = next_node_number()
        if node_number > self.last_node_number:
            self._ran.note_nodes(operation, self.last_node_number, node_number)
            operation.node_number = node_number - 1
            self.last_node_number = node_number
        keys = [storage_key(tensor) for tensor in given]
        operation.inputs = self.memory_writers.writers_of(keys)
        if node is None:
            self.notes.describe(operation, (given, keys), args)
        self._ran.add(operation)
        return operation

    def remember(self, operation: Operation) -> None:
        """Keep an operation that the backward log had kept briefly."""
        self._ran.add(operation)

    def place_in_backward(self, operation: Operation, name: str, node_number: int) -> None:
        """Set the autograd node, by name and number, that an operation of backward belongs to."""
        operation.node = name.rpartition(":")[2]
        operation.forward = self._ran.of_node(node_number)
        operation.module = operation.forward.module if operation.forward else None
        accumulates = "AccumulateGrad" in name or (
            operation.info.base in ("add", "add_") and "Add" not in name
        )
        operation.phase = "accumulate" if accumulates else "backward"

    def _phase(self, part: str) -> str:
        if part == "clip":
            return "clip"
        if part == "optim" or self.state.in_update:
            return "update"
        return "data" if part == "data" else "forward"

    @mode_stack.unseen
    def _note_cut(self, info: OperationInfo, given: Any, result: Any) -> None:
        """Note that a value left its graph here, in the program's code or inside of a torch function."""
        try:
            if current_node() is not None or any(map(is_lazy, (*given, result))):
                return
            backward_log.restore_operations(self)
            self.seen += 1
            operation = Operation(self.seen, info, self.next_step)
            called_from = call_site(frame_at(2))
            operation.sites, operation.outer = called_from.sites, called_from.outer
            operation.module = self.modules.path
            keys = [storage_key(tensor) for tensor in given]
            operation.inputs = self.memory_writers.writers_of(keys)
            self.notes.trace_back(operation, (list(given), keys))
            if result is not None:
                operation.shape = list(result.shape)
                self.notes.viewed(operation, [result])
            self.notes.cuts.append(operation)
        except Exception as problem:
            self._failed(problem)
