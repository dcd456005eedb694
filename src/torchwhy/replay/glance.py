"""Operations of the first step that a glance is enough for, as long as their results are finite.

Between the program's lines, torch cuts samples out of a dataset, stacks them, differentiates, and updates weights:
hundreds of operations about which nobody will ask, unless a bad value is born in one of them. Where all of the work is
torch's own, the microscope steps aside altogether: while a plain dataset is fetched from, and while an optimizer of
torch writes. What an update spoils then, a second run sees.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from torchwhy.observe import gradients
from torchwhy.observe.frames import layer_of, user_sites
from torchwhy.observe.native.records import fast
from torchwhy.observe.torch_compat import (
    current_node,
    fetching_code,
    sequence_number,
    storage_key,
)
from torchwhy.replay.arguments import can_look, written_by
from torchwhy.replay.births import Call
from torchwhy.replay.inquest.writes import Record
from torchwhy.replay.operations import Operation, OperationInfo
from torchwhy.replay.surroundings import Surroundings, look_around

if TYPE_CHECKING:
    from torchwhy.replay.microscope import Microscope

MOST_FRAMES = 12  # between an operation of torch's own and the fetching of samples

_by_index, _by_iteration = fetching_code()


def is_enough(microscope: Microscope, info: OperationInfo, call: Call, result: Any) -> bool:
    """Tell whether an operation needs no more than this; it is noted who wrote what, the rest is left out."""
    if microscope.book.is_open:
        return False
    node, frame = current_node(), sys._getframe(2)
    if node is not None:
        return _differentiates(microscope, (info, result), node, frame)
    updates = microscope.updating()
    if not (updates or is_torchs_own_fetching(frame)):
        return False
    _, args, kwargs = call
    written = written_by(info, args, kwargs) if info.writes else []
    if not are_fine(written or (result if isinstance(result, tuple) else (result,))):
        return False
    microscope.seen += 1
    if written and updates:
        operation = Operation(microscope.seen, info, microscope.next_step)
        around = _surroundings(microscope, frame)
        operation.sites, operation.outer, operation.phase = around.sites, around.outer, "update"
        microscope.writes.ran(operation, written, written)
    return True


def _differentiates(
    microscope: Microscope, ran: tuple[OperationInfo, Any], node: Any, frame: FrameType
) -> bool:
    """Note an operation of a backward pass: of which forward operation it is, and what it wrote."""
    info, result = ran
    results = result if isinstance(result, (list, tuple)) else (result,)
    if sequence_number() != microscope.last_sequence or not are_fine(results):
        return False  # a gradient that will be differentiated is part of the forward
    microscope.seen += 1
    operation = Operation(microscope.seen, info, microscope.step)
    around = _around_backward(microscope, frame)
    operation.sites, operation.outer = around.sites, around.outer
    microscope.place_in_backward(operation, node)
    if not info.is_view or info.is_creating:
        for tensor in results:
            if isinstance(tensor, torch.Tensor):
                microscope.ledger.wrote(tensor, operation, frozenset())
    microscope.remember(operation)
    return True


def _around_backward(microscope: Microscope, frame: FrameType) -> Surroundings:
    """Return the way to a backward pass, the same for all operations that one and the same frame runs."""
    key, known = (id(frame), frame.f_lasti), microscope.surroundings_of_backward
    if known is None or known[0] != key:
        known = microscope.surroundings_of_backward = (key, look_around(frame))
    return known[1]


def note_update(microscope: Microscope, parameters: list[torch.Tensor]) -> None:
    """Note that an optimizer of torch wrote its weights while the microscope had stepped aside."""
    microscope.seen += 1
    sites = user_sites(sys._getframe(1), limit=1)
    keys = frozenset(key for p in parameters if (key := storage_key(p)) is not None)
    site = sites[0] if sites else None
    microscope.writes.writes.append(Record(microscope.seen, "step", "update", site, None, keys))


def is_torchs_own(optimizer: Any) -> bool:
    """Tell whether an optimizer's arithmetic is all torch's, and its hyperparameters are numbers."""
    return type(optimizer).__module__.startswith("torch.optim.")


def _surroundings(microscope: Microscope, frame: FrameType) -> Surroundings:
    """Return the way to an update, the same for all of its operations."""
    check, known = microscope.open_check(), microscope.surroundings_of_update
    if known is None or known[0] is not check:
        known = microscope.surroundings_of_update = (check, look_around(frame))
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
