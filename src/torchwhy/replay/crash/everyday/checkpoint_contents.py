"""Finds what a checkpoint contains that `torch.load` refuses, without loading it."""

from __future__ import annotations

import os
from pathlib import Path

from torch import serialization

from torchwhy.replay.crash.everyday.torch_calls import frame_of
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame
from torchwhy.replay.crash.hidden.hidden_facts import HiddenFacts

SEPARATOR = ", "
MOST_GLOBALS = 12
FIRST_BYTES = 24
ZIP, PICKLE = b"PK", b"\x80"


def note_checkpoint(frames: list[TracebackFrame], hidden: HiddenFacts) -> None:
    """Note the file of a failed `torch.load`, the classes in it that are not allowed, and its size and beginning."""
    load = frame_of(frames, "torch.serialization", "load")
    given = load.variables.get("f") if load is not None else None
    if not isinstance(given, (str, os.PathLike)):
        return
    path = Path(given)
    hidden.facts["checkpoint"] = path.name
    if not path.is_file():
        return
    hidden.facts["checkpoint_bytes"] = float(path.stat().st_size)
    with path.open("rb") as opened:
        begins = opened.read(FIRST_BYTES)
    if begins.startswith((ZIP, PICKLE)):
        hidden.facts["refused_globals"] = SEPARATOR.join(_refused(path))
    else:
        hidden.facts["checkpoint_begins"] = repr(begins)[1:]


def _refused(path: Path) -> list[str]:
    """Return the classes and functions in a checkpoint that are not allowed; torch disassembles it for this."""
    disassemble = getattr(
        serialization, "get_unsafe_globals_in_checkpoint", None
    )  # since torch 2.6
    try:
        return sorted(disassemble(path))[:MOST_GLOBALS] if disassemble is not None else []
    except Exception:  # a damaged file: any reader may fail in its own way
        return []
