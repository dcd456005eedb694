"""The dispatch mode of a rehearsal: logs every operation that depends on a parameter, and copies what feeds it."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from torchwhy.observe.devices import generator_states
from torchwhy.observe.devices.generator_states import GeneratorStates
from torchwhy.observe.program.frames import Site
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.autograd_nodes import backward_entry_code, current_node
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.mode_stack import unseen
from torchwhy.observe.torch_features.tensor_parts import storage_key
from torchwhy.plain_data import dataclass
from torchwhy.replay.microscope.arguments import written_by
from torchwhy.replay.microscope.call_sites import call_site
from torchwhy.replay.microscope.operations import info_of
from torchwhy.replay.observing.pausable_mode import PausableMode
from torchwhy.replay.rehearsal.capture import lost_values, row_orders
from torchwhy.replay.rehearsal.capture.batch_reads import BatchReads
from torchwhy.replay.rehearsal.capture.captured_program import (
    CapturedOperation,
    Ref,
    exchanged,
    flat,
)
from torchwhy.replay.rehearsal.capture.given_arguments import GivenArguments
from torchwhy.replay.rehearsal.capture.lost_values import LostValues
from torchwhy.replay.rehearsal.capture.operation_log import (
    MOST_BYTES,
    MOST_OPERATIONS,
    CannotCapture,
    OperationLog,
    flat_tensors,
)
from torchwhy.replay.rehearsal.capture.row_orders import RowOrders
from torchwhy.replay.rehearsal.data_code.met_rows import MetRows

# Results that depend on the shape of their operand only.
OF_SHAPES = {
    "empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like",
    "new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided", "_local_scalar_dense", "item",
    "is_same_size", "equal", "is_nonzero",
}  # fmt: skip
# Draws: what was drawn is data, as an action that was taken.
DRAWS = {"multinomial", "bernoulli", "bernoulli_", "poisson", "binomial", "normal", "geometric_"}
ALIASES = {"detach", "alias"}
_backward_entry = backward_entry_code()


@dataclass
class Pending:
    """An operation that is about to run, with its references."""

    function: Any
    args: Any
    kwargs: Any
    writes: tuple[int, ...]
    random_state: GeneratorStates | None
    site: Site | None


class CaptureMode(PausableMode):
    """Logs operations; `is_parameter` tells parameters from data that requires a gradient."""

    def __init__(
        self,
        log: OperationLog,
        state: TrainingState,
        *,
        is_parameter: Callable[[torch.Tensor], bool],
        failed: Callable[[BaseException], None],
        orders: RowOrders,
        reads: BatchReads,
        arguments: GivenArguments,
        rows: MetRows,
    ) -> None:
        super().__init__()
        self.log = log
        self._state = state
        self._is_parameter = is_parameter
        self._failed = failed
        self._prepare = self.guarded(unseen(self._prepared))
        self._note = self.guarded(unseen(self._log))
        self._orders = orders
        self._note_order = self.guarded(unseen(orders.operation))
        self._note_read = self.guarded(unseen(reads.operation))
        self._arguments = arguments
        self._rows = rows
        self.lost = LostValues()
        self._note_lost = self.guarded(unseen(self.lost.operation))
        self.logged = 0  # operations so far
        self.before_next: Callable[[], object] | None = (
            None  # called once, when a backward pass is over
        )

    def enter(self) -> None:
        """Start logging."""
        if not self.is_on:
            self.is_on = True
            self._put_on()

    def leave(self) -> None:
        """Stop logging."""
        self.is_on = False
        self.tidy()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not self.is_on:
            self.leave_late()
            return self.run(func, args, kwargs)
        in_backward = current_node() is not None
        if self.before_next is not None and not in_backward:
            # A backward pass inside of another one, as of a checkpoint, ends with no node.
            in_backward = _running_backwards(frame_at(1)) > 0
        if self.before_next is not None and not in_backward:
            called, self.before_next = self.before_next, None
            called()
        # A backward pass is a part of a step if it is differentiated itself.
        if self._state.in_update or (in_backward and not torch.is_grad_enabled()):
            return self.run(func, args, kwargs)
        pending = self._prepare(func, args, kwargs)
        result = self.run(func, args, kwargs)
        self._note_read(info_of(func), flat_tensors((args, kwargs)), result)
        if pending is not None:
            self._note(pending, result)
        elif info_of(func).base == lost_values.CONVERSION:
            self._note_lost(info_of(func).base, args, result)
        elif self._orders.wants_more and info_of(func).base in row_orders.OPERATIONS:
            self._note_order(info_of(func).base, args, result)
        return result

    def guarded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that looks at the program and never raises into it."""

        def safe(*args: Any) -> Any:
            try:
                return function(*args)
            except CannotCapture as reason:
                self.log.current.failure = str(reason)
            except Exception as problem:
                self._failed(problem)
            return None

        return safe

    def _prepared(self, func: Any, args: Any, kwargs: Any) -> Pending | None:
        info, log = info_of(func), self.log
        if info.base in OF_SHAPES or (info.is_ignored and info.base not in ALIASES):
            return None
        given = flat_tensors((args, kwargs))
        if not any(map(log.depends, given)):
            return None
        if any(one.is_nested for one in given):  # attention makes them of padded rows in eval mode
            raise CannotCapture("it computes with nested tensors")
        if not torch.is_grad_enabled():
            self._rows.evaluate(given, self._is_of_parameter)
        written = written_by(info, args, kwargs) if info.writes else []
        if info.base in DRAWS or any(map(self._is_of_parameter, written)):
            return None  # a draw is data; what writes into a parameter belongs to no step
        site = self._site()
        self._arguments.look(frame_at(2))
        owned = [log.find(one) or log.own(one, site) for one in written]
        filled = exchanged((args, kwargs), lambda one: self.ref(one, site))
        state = None
        if torch.Tag.nondeterministic_seeded in getattr(func, "tags", ()):
            state = generator_states.take()
        numbers = tuple(ref.number for ref in owned)
        return Pending(func, filled[0], filled[1], numbers, state, site)

    def _is_of_parameter(self, tensor: torch.Tensor) -> bool:
        if tensor.requires_grad and tensor.is_leaf:
            return True
        key = storage_key(tensor)
        return key is not None and key in self.log.parameters.memories

    def _site(self) -> Site | None:
        sites = call_site(frame_at(3)).sites
        return sites[0] if sites else None

    def ref(self, value: Any, site: Site | None) -> Any:
        """Return the reference of a tensor among arguments, anything else as it is."""
        if isinstance(value, torch.Generator):
            return None  # the recorded state is put back into torch's own
        if not isinstance(value, torch.Tensor):
            return value
        is_leaf = value.is_leaf
        if value.requires_grad and is_leaf and self._is_parameter(value):
            return Ref("parameter", self.log.parameters.number_of(value))
        known = self.log.find(value)
        if known is not None:
            cut = not value.requires_grad or is_leaf
            return Ref(known.kind, known.number, cut and known.kind != "slot")
        return self.log.slot(value, site, is_missing=value.requires_grad and not is_leaf)

    def _log(self, pending: Pending, result: Any) -> None:
        log = self.log
        if info_of(pending.function).base in ALIASES:
            source = pending.args[0]
            if isinstance(source, Ref) and isinstance(result, torch.Tensor):
                log.name(result, Ref(source.kind, source.number))
            return
        numbers = tuple(self._number(one) for one in flat(result))
        operation = CapturedOperation(
            pending.function,
            pending.args,
            pending.kwargs,
            numbers,
            shapes=tuple(_shape(one) for one in flat(result)),
            with_grad=torch.is_grad_enabled(),
            writes=pending.writes,
            random_state=pending.random_state,
            site=pending.site,
        )
        segment = log.current
        segment.operations.append(operation)
        self.logged += 1
        if len(segment.operations) > MOST_OPERATIONS or segment.bytes > MOST_BYTES:
            log.clear("too much is computed between two backward passes")

    def _number(self, result: Any) -> int | None:
        if not isinstance(result, torch.Tensor):
            return None
        known = self.log.find(result) if self.log.is_named(result) else None
        if known is not None:
            return known.number if known.kind == "value" else None
        number = self.log.new_number()
        self.log.name(result, Ref("value", number))
        return number


def is_inside_another() -> bool:
    """Tell whether a backward pass begins inside of another one; called when it begins."""
    return _running_backwards(frame_at(1)) > 1


def _running_backwards(frame: FrameType | None) -> int:
    count = 0
    while frame is not None:
        count += frame.f_code is _backward_entry
        frame = frame.f_back
    return count


def _shape(result: Any) -> tuple[int, ...] | None:
    return tuple(result.shape) if isinstance(result, torch.Tensor) else None
