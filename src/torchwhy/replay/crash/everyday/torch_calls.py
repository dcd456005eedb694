"""Finds the frame of a function of torch in a traceback, and the user's frame that called it."""

from __future__ import annotations

from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame


def frame_of(frames: list[TracebackFrame], module: str, function: str) -> TracebackFrame | None:
    """Return the innermost frame of a function, by the module that defines it."""
    for frame in reversed(frames):
        if frame.code.co_name == function and frame.globals.get("__name__") == module:
            return frame
    return None
