"""Operations of the first step that a glance is enough for, as long as their results are finite.

Between the program's lines, torch cuts samples out of a dataset, stacks them, and updates weights: hundreds of
operations about which nobody will ask, unless a bad value is born in one of them.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from torchwhy.observe import gradients
from torchwhy.observe.frames import layer_of
from torchwhy.observe.native.records import fast
from torchwhy.observe.torch_compat import current_node, fetching_code
from torchwhy.replay.arguments import can_look, written_by
from torchwhy.replay.births import Call
from torchwhy.replay.operations import Operation, OperationInfo
from torchwhy.replay.surroundings import Surroundings, look_around

if TYPE_CHECKING:
    from torchwhy.replay.microscope import Microscope

MOST_FRAMES = 12  # between an operation of torch's own and the fetching of samples

_by_index, _by_iteration = fetching_code()


def is_enough(microscope: Microscope, info: OperationInfo, call: Call, result: Any) -> bool:
    """Tell whether an operation needs no more than this; of an update it is noted what it wrote."""
    updates = microscope.updating() and current_node() is None
    if microscope.book.is_open or not (updates or is_torchs_own_fetching(sys._getframe(2))):
        return False
    _, args, kwargs = call
    written = written_by(info, args, kwargs)
    if not are_fine(written or (result if isinstance(result, tuple) else (result,))):
        return False
    microscope.seen += 1
    if written and updates:
        operation = Operation(microscope.seen, info, microscope.next_step)
        around = _surroundings(microscope, sys._getframe(2))
        operation.sites, operation.outer, operation.phase = around.sites, around.outer, "update"
        microscope.writes.ran(operation, written, written)
    return True


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
