"""Operations of the first step that a glance is enough for, as long as their results are finite.

Between the program's lines, torch cuts samples out of a dataset, stacks them, differentiates, and updates weights:
hundreds of operations about which nobody will ask, unless a bad value is born in one of them. Where all of the work is
torch's own, the microscope steps aside altogether: while a plain dataset is fetched from, and while an optimizer of
torch writes. What an update spoils then, a second run sees.
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
    node_sequence,
    root_gradients_code,
    sequence_number,
)
from torchwhy.observe.torch_features.interpreter import frame_at
from torchwhy.observe.torch_features.loader_parts import fetching_code
from torchwhy.observe.torch_features.tensor_parts import storage_key, weak_reference, weak_storage
from torchwhy.replay.microscope.arguments import can_look, written_by
from torchwhy.replay.microscope.call_sites import CallSite, call_site
from torchwhy.replay.microscope.operations import Operation, OperationInfo, info_of
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
    """What is kept of an operation of a backward pass; most are never asked for."""

    order: int
    info: OperationInfo
    step: int
    node: str
    node_number: int
    called_from: CallSite
    written: list[Any]  # weak references to memory


class BackwardLog:
    """The glimpses of a step, kept here; `native/film.c` also runs the operations."""

    def __init__(self) -> None:
        self.kept: list[LoggedOperation] = []
        self.seconds = 0.0
        self.known: tuple[object, CallSite] | None = None

    def run(self, function: Any, args: Any, kwargs: Any) -> Any:  # noqa: ARG002 - as in C
        """Run an operation that a glance is enough for; here none."""
        return NotImplemented

    def take(self) -> list[LoggedOperation]:
        """Return what was kept, and begin anew."""
        kept, self.kept = self.kept, []
        return kept

    def begin(self) -> None:
        """Forget the way to the operations of the last backward pass."""
        self.known = None


def new_backward_log(microscope: Microscope) -> Any:
    """Return an empty one: in C where that was built, and tensors can be read there."""
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
    )


def log_briefly(microscope: Microscope, info: OperationInfo, call: Call, result: Any) -> bool:
    """Tell whether an operation needs no more than this; it is noted who wrote what, the rest is left out."""
    if microscope.nonfinite_log.is_open:
        return False
    node, frame = current_node(), _program_below(frame_at(2))
    if node is not None:
        return _differentiates(microscope, (info, result), node, frame)
    if frame.f_code is _root_gradients:
        return True  # ones of the loss's shape, with which a backward pass begins
    updates = microscope.updating()
    if not (updates or (not microscope.modules.is_running and is_torchs_own_fetching(frame))):
        return False
    _, args, kwargs = call
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
    """Note an operation of a backward pass: of which forward operation it is, and what it wrote."""
    info, result = ran
    results = result if isinstance(result, (list, tuple)) else (result,)
    if sequence_number() != microscope.last_sequence or not are_fine(results):
        return False  # a gradient that will be differentiated is part of the forward
    if microscope.modules.is_running:
        return False  # a checkpoint computes its forward again
    microscope.seen += 1
    written = [
        weak_storage(tensor)
        for tensor in results
        if info.keeps_memory
        and isinstance(tensor, torch.Tensor)
        and storage_key(tensor) is not None
    ]
    called_from = _call_site_of_backward(microscope.backward_log, frame)
    place = (node.name(), node_sequence(node))
    microscope.backward_log.kept.append(
        LoggedOperation(microscope.seen, info, microscope.step, *place, called_from, written)
    )
    return True


def restore_operations(microscope: Microscope) -> None:
    """Make operations of what was glimpsed, before anything that may ask for them."""
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
    """Return the way to an operation of a backward pass, the same for all that one place runs."""
    if not isinstance(backward_log, BackwardLog):
        return call_site(frame)
    key = (frame.f_code, frame.f_lasti)
    if backward_log.known is None or backward_log.known[0] != key:
        backward_log.known = (key, call_site(frame))
    return backward_log.known[1]


def note_update(microscope: Microscope, parameters: list[torch.Tensor]) -> None:
    """Note that an optimizer of torch wrote its weights while the microscope had stepped aside."""
    microscope.seen += 1
    sites = user_sites(frame_at(1), limit=1)
    keys = frozenset(key for p in parameters if (key := storage_key(p)) is not None)
    site = sites[0] if sites else None
    microscope.writes.writes.append(Record(microscope.seen, "step", "update", site, None, keys))


def is_torchs_own(optimizer: Any) -> bool:
    """Tell whether an optimizer's arithmetic is all torch's, and its hyperparameters are numbers."""
    return type(optimizer).__module__.startswith("torch.optim.")


def _call_site_of_update(microscope: Microscope, frame: FrameType) -> CallSite:
    """Return the way to an update, the same for all of its operations."""
    check, known = microscope.open_check(), microscope.call_site_of_update
    if known is None or known[0] is not check:
        known = microscope.call_site_of_update = (check, call_site(frame))
    return known[1]


def is_torchs_own_fetching(frame: FrameType | None) -> bool:
    """Tell whether samples are being fetched and no code of the program, or of a library, is on the way."""
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
    """Tell whether results can be looked at and hold nothing bad."""
    for result in results:
        if not isinstance(result, torch.Tensor) or (
            fast is not None and fast.surely_finite(result)
        ):
            continue
        if result.is_floating_point() and not (can_look(result) and gradients.is_finite(result)):
            return False
    return True
