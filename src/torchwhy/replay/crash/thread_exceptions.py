"""Explains an exception that ends another thread: Python prints it and the program goes on.

Because the program goes on, the autopsy runs nothing of it again, as for an exception that the program catches.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from torchwhy.observe.hooks import Hooks
from torchwhy.observe.program.exceptions import clean, uncaught
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.replay.crash.frames.traceback_frames import frames_of, told_error
from torchwhy.replay.crash.late_post_mortem import LatePostMortem


class ThreadExceptions:
    """Looks at the first exception that ends a thread, after the user has seen its traceback."""

    def __init__(
        self,
        post_mortem: LatePostMortem,
        recorder: Recorder,
        state: TrainingState,
        hooks: Hooks,
        protect: Callable[..., Any],
    ) -> None:
        self._post_mortem = post_mortem
        self._recorder = recorder
        self._state = state
        self._hooks = hooks
        self._protect = protect
        self._has_seen_one = False

    def watch(self) -> None:
        """Replace the hook that Python calls for an exception in a thread."""
        show, protect = threading.excepthook, self._protect

        def hook(args: Any) -> None:
            error = args.exc_value
            if error is None or isinstance(error, SystemExit) or self._has_seen_one:
                show(args)
                return
            self._has_seen_one = True
            cause = told_error(error)
            frames = frames_of(cause.__traceback__)
            protect("exception probe", self._note)(error)
            with suppress(Exception):
                clean(error)
            trace = error.__traceback__ or args.exc_traceback
            show(threading.ExceptHookArgs((args.exc_type, error, trace, args.thread)))

            def look() -> None:
                crash = self._post_mortem.of(cause, frames, caught=True)
                self._recorder.write(msgspec.structs.replace(crash, caught=False))

            protect("autopsy", look)()

        self._hooks.replace_unseen(threading, "excepthook", hook)

    def _note(self, error: BaseException) -> None:
        self._recorder.write(uncaught(error, self._state.step))
