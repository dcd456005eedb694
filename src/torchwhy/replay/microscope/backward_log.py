"""A short log of operations that torch runs by itself, as long as their results are finite.

Between the program's lines torch slices samples out of a dataset, stacks them, differentiates, and updates weights:
hundreds of operations that matter only if one of them makes a bad value. Of those in a backward pass only node and
memory are logged; full operation records are built if a later step needs them. While torch alone fetches samples or
updates weights, the microscope pauses altogether; what an update spoils then is seen in a rerun.
"""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from torchwhy.observe.native.native_descriptors import is_ready
from torchwhy.observe.native.records import fast
from torchwhy.observe.program.frames import user_sites
from torchwhy.observe.steps import gradients
from torchwhy.observe.torch_features.autograd_nodes import (
    current_node,
    next_node_number,
    number_of_node,
    root_gradients_code,
)
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.loader_parts import fetching_code
from torchwhy.observe.torch_features.tensor_parts import storage_key, weak_reference, weak_storage
from torchwhy.replay.microscope.arguments import can_look, written_by
from torchwhy.replay.microscope.call_sites import CallSite, call_site
from torchwhy.replay.microscope.operations import (
    Operation,
    OperationInfo,
    info_of,
    tensors_in,
)
from torchwhy.replay.microscope.write_log import Record
from torchwhy.replay.nonfinite.nonfinite_log import Call
from torchwhy.source.files import layer_of

if TYPE_CHECKING:
    from torchwhy.replay.microscope.dispatch_mode import Microscope

MOST_FRAMES = 12  # between an operation of torch's own and the fetching of samples

_by_index, _by_iteration = fetching_code()
_root_gradients = root_gradients_code()
_OURS = ("torchwhy.replay.microscope.dispatch_mode", __name__)


class LoggedOperation(NamedTuple):
    """What is kept of an operation of a backward pass."""

    order: int
    info: OperationInfo
    step: int
    node: str
    node_number: int
    called_from: CallSite
    written: list[Any]  # weak references to memory


class BackwardLog:
    """The logged operations of a step; the twin in C also runs them."""

    def __init__(self) -> None:
        self.kept: list[LoggedOperation] = []
        self.seconds = 0.0
        self.known: tuple[object, CallSite] | None = None

    def run(self, function: Any, args: Any, kwargs: Any) -> Any:  # noqa: ARG002 - as in C
        """Run an operation that only needs to be logged; in Python, none."""
        return NotImplemented

    def take(self) -> list[LoggedOperation]:
        """Return the logged operations and start an empty list."""
        kept, self.kept = self.kept, []
        return kept

    def begin(self) -> None:
        """Forget the call site of the last backward pass."""
        self.known = None


def new_backward_log(microscope: Microscope) -> Any:
    """Return an empty log: in C if that was built and can read tensors."""
    if not is_ready():
        return BackwardLog()
    return fast.BackwardLog(
        microscope=microscope,
        births=microscope.nonfinite_log.births,
        running=microscope.modules.stack,
        waiting=microscope.before_next,
        info_of=info_of,
        call_site=call_site,
        look=microscope.look_again,
        weak=weak_reference(),
        current_node=current_node,
        writers=microscope.memory_writers,
    )


def log_briefly(microscope: Microscope, info: OperationInfo, call: Call, result: Any) -> bool:
    """Log an operation briefly if that is enough; False if the microscope has to look at it."""
    _, args, kwargs = call
    if info.is_collective or (
        microscope.nonfinite_log.is_open
        and any(map(microscope.memory_writers.births_of, tensors_in((*args, *kwargs.values()))))
    ):
        return False
    node, frame = current_node(), _program_below(frame_at(2))
    if node is not None:
        return _differentiates(microscope, (info, result), node, frame)
    if frame.f_code is _root_gradients:
        return True  # ones of the loss's shape: the start of a backward pass
    updates = microscope.state.in_update
    if not (updates or (not microscope.modules.is_running and is_torchs_own_fetching(frame))):
        return False
    written = written_by(info, args, kwargs) if info.writes else []
    if not are_fine(written or (result if isinstance(result, tuple) else (result,))):
        return False
    microscope.seen += 1
    if written and updates:
        operation = Operation(microscope.seen, info, microscope.next_step)
        called_from = _call_site_of_update(microscope, frame)
        operation.sites, operation.outer, operation.phase = (
            called_from.sites,
            called_from.outer,
            "update",
        )
        microscope.writes.ran(operation, written, written)
    return True


def _program_below(frame: FrameType) -> FrameType:
    """Return the frame that ran an operation: the first one that is not ours."""
    while frame.f_back is not None and frame.f_globals.get("__name__") in _OURS:
        frame = frame.f_back
    return frame


def _differentiates(
    microscope: Microscope, ran: tuple[OperationInfo, Any], node: Any, frame: FrameType
) -> bool:
    """Log an operation of a backward pass: the node it belongs to, and the memory it wrote."""
    info, result = ran
    results = result if isinstance(result, (list, tuple)) else (result,)
    if next_node_number() != microscope.last_node_number or not are_fine(results):
        return False  # a gradient that can be differentiated is part of the forward
    if microscope.modules.is_running:
        return False  # a checkpoint recomputes its forward
    microscope.seen += 1
    written = [
        weak_storage(tensor)
        for tensor in results
        if info.keeps_memory
        and isinstance(tensor, torch.Tensor)
        and storage_key(tensor) is not None
    ]
    called_from = _call_site_of_backward(microscope.backward_log, frame)
    place = (node.name(), number_of_node(node))
    microscope.backward_log.kept.append(
        LoggedOperation(microscope.seen, info, microscope.step, *place, called_from, written)
    )
    return True


def restore_operations(microscope: Microscope) -> None:
    """Build full operations from the log, before anything that needs them."""
    if not microscope.backward_log.kept:
        return
    for (
        order,
        info,
        step,
        node,
        node_number,
        called_from,
        written,
    ) in microscope.backward_log.take():
        operation = Operation(order, info, step)
        operation.sites, operation.outer = called_from.sites, called_from.outer
        microscope.place_in_backward(operation, node, node_number)
        for weak in written:
            microscope.memory_writers.wrote_memory(weak, operation)
        microscope.remember(operation)


def _call_site_of_backward(backward_log: Any, frame: FrameType) -> CallSite:
    """Return the call site of an operation of a backward pass; all that one frame starts share it."""
    if not isinstance(backward_log, BackwardLog):
        return call_site(frame)
    key = (frame.f_code, frame.f_lasti)
    if backward_log.known is None or backward_log.known[0] != key:
        backward_log.known = (key, call_site(frame))
    return backward_log.known[1]


def note_update(microscope: Microscope, parameters: list[torch.Tensor]) -> None:
    """Note that an optimizer of torch wrote its weights during a pause of the microscope."""
    microscope.seen += 1
    sites = user_sites(frame_at(1), limit=1)
    keys = frozenset(key for p in parameters if (key := storage_key(p)) is not None)
    site = sites[0] if sites else None
    microscope.writes.writes.append(Record(microscope.seen, "step", "update", site, None, keys))


def is_torchs_own(optimizer: Any) -> bool:
    """Tell whether an optimizer's arithmetic is all torch's, and its hyperparameters are numbers."""
    return type(optimizer).__module__.startswith("torch.optim.")


def _call_site_of_update(microscope: Microscope, frame: FrameType) -> CallSite:
    """Return the call site of an update; all of its operations share it."""
    check, known = microscope.state.open_check, microscope.call_site_of_update
    if known is None or known[0] is not check:
        known = microscope.call_site_of_update = (check, call_site(frame))
    return known[1]


def is_torchs_own_fetching(frame: FrameType | None) -> bool:
    """Tell whether a loader fetches samples without running code of the program or of a library."""
    for _ in range(MOST_FRAMES):
        if frame is None:
            return False
        code = frame.f_code
        if code is _by_index or code is _by_iteration:
            return True
        if layer_of(code.co_filename) != "torch":
            return False
        frame = frame.f_back
    return False


def are_fine(results: Any) -> bool:
    """Tell whether results can be judged and are finite."""
    for result in results:
        if not isinstance(result, torch.Tensor) or (
            fast is not None and fast.surely_finite(result)
        ):
            continue
        if result.is_floating_point() and not (can_look(result) and gradients.is_finite(result)):
            return False
    return True
