"""An exception that ends another thread: Python prints it and goes on, so the program's own hook never hears of it.

The program may go on as well, so nothing of it is run again for the autopsy, as for an exception it catches.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from torchwhy.observe.program.exceptions import clean, note_uncaught
from torchwhy.replay.crash.frames.traceback_frames import frames_of, told_error
from torchwhy.replay.crash.post_mortem import post_mortem

if TYPE_CHECKING:
    from torchwhy.replay.equipment import Stage


def watch_threads(stage: Stage) -> None:
    """Look at the first exception that ends a thread, after the user has seen its traceback."""
    session = stage.session
    show, protect = threading.excepthook, session.guests.protect
    told: list[bool] = []

    def hook(args: Any) -> None:
        error = args.exc_value
        if error is None or isinstance(error, SystemExit) or told:
            show(args)
            return
        told.append(True)
        cause = told_error(error)
        frames = frames_of(cause.__traceback__)
        protect("exception probe", note_uncaught)(session, error)
        with suppress(Exception):
            clean(error)
        trace = error.__traceback__ or args.exc_traceback
        show(threading.ExceptHookArgs((args.exc_type, error, trace, args.thread)))

        def look() -> None:
            crash = post_mortem(stage, cause, frames, caught=True)
            session.write(msgspec.structs.replace(crash, caught=False))

        protect("autopsy", look)()

    session.hooks.replace(threading, "excepthook", hook)
