"""Chooses what to note about an everyday error, by torch's function that raised it."""

from __future__ import annotations

from collections.abc import Callable

from torchwhy.observe.program.names import Names
from torchwhy.replay.crash.everyday.checkpoint_contents import note_checkpoint
from torchwhy.replay.crash.everyday.device_memory import OUT_OF_MEMORY, note_device_memory
from torchwhy.replay.crash.everyday.devices_here import note_devices
from torchwhy.replay.crash.everyday.loaded_states import note_state
from torchwhy.replay.crash.everyday.missing_modules import note_missing_module
from torchwhy.replay.crash.everyday.refused_range import note_refused_range
from torchwhy.replay.crash.everyday.schedule_length import note_schedule
from torchwhy.replay.crash.everyday.sparse_gradients import note_sparse_gradients
from torchwhy.replay.crash.everyday.unreduced_parameters import UNREDUCED, note_unreduced_parameters
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts

SPARSE = ("sparse gradients", "dense gradients", "Sparse", "(sparse, dense)")
DEVICES = ("CUDA", "cuda", "NVIDIA", "mps", "MPS", "XPU", "xpu", "HIP", "NCCL", "accelerator")
Note = Callable[[list[TracebackFrame], HiddenFacts], None]
NOTES: tuple[Note, ...] = (note_checkpoint, note_schedule, note_refused_range, note_missing_module)


def note_everyday(
    message: str, frames: list[TracebackFrame], hidden: HiddenFacts, names: Names
) -> None:
    """Add what the live frames tell about an everyday error."""
    for note in NOTES:
        note(frames, hidden)
    note_state(frames, hidden, names)
    if any(word in message for word in SPARSE):
        note_sparse_gradients(frames, hidden, names)
    if UNREDUCED in message:
        note_unreduced_parameters(message, frames, hidden, names)
    if any(word in message for word in DEVICES):
        note_devices(hidden)
    if OUT_OF_MEMORY in message:
        note_device_memory(frames, hidden)
