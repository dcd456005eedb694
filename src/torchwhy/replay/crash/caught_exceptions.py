"""Exceptions of torch that the program catches and goes on: which, where, how often, and what they cost.

Only those count that come out of an operation, a model's forward or a backward pass, and that are handled in the
user's own code in a way that loses the step: `continue`, or a `try` with the whole step in it. A fallback
(`view`, else `reshape`) costs nothing, and is told only if training never gets to a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

import msgspec

from torchwhy.observe.program.exceptions import without_own_frames
from torchwhy.observe.torch_features.torch_internals import DEVICE_START, STEP_FILES
from torchwhy.record.crashes import Crash
from torchwhy.replay.crash.exception_watchers import watcher_for
from torchwhy.replay.crash.frames.failed_operands import DISPATCH
from torchwhy.replay.crash.frames.lookup import Lookup, Unknown
from torchwhy.replay.crash.frames.traceback_frames import frames_of
from torchwhy.replay.crash.post_mortem import post_mortem
from torchwhy.replay.crash.thread_exceptions import watch_threads
from torchwhy.source.analyses.handlers import Handler, costs_step, handlers_around
from torchwhy.source.files import scope_of
from torchwhy.source.values import Expression

if TYPE_CHECKING:
    from torchwhy.replay.equipment import Stage

# What a broken step raises. Lookups and probes (KeyError, AttributeError, NotImplementedError …) steer programs.
KINDS = (RuntimeError, ValueError, IndexError, TypeError)
NOT_KINDS = (NotImplementedError, RecursionError, UnicodeError)
NO_STEP = ("load_state_dict", "load", DEVICE_START, "to", "cuda", "__getattr__")
MOST_TIMES = 200  # occurrences after which a trace function has seen enough
MARK = "_torchwhy_place"  # on an exception: where it was taken up, in case it is raised again
MOST_WINDOWS = 4  # stretches of a few seconds that are watched because something was lost
STEADY = 3  # steps of one batch each after which a batch without a step is remarkable


@dataclass
class CaughtAt:
    """One place that swallows: the first exception there in full, the later ones counted."""

    crash: Crash
    costs_step: bool
    times: int = 1


class CaughtExceptions:
    """Watches the first step (the whole run where that is free), and later the batch that seems to be lost."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._watcher = watcher_for(stage.session.guests.protect("exception watch", self._arrived))
        self._seen: dict[tuple[str, int, str], CaughtAt] = {}
        self._ignored: set[tuple[int, int, type]] = set()
        self._has_begun = False
        self._last_serial = 0
        self._last_step = -1
        self._steady = 0
        self._look_at = -1
        self._goes_on = False  # beyond the step in hand
        self._windows = 0

    def begin(self) -> None:
        """Start watching: when the first optimizer is made, so that preparing data costs nothing.

        A trace function waits for the next operation: making an optimizer imports torch's compiler, which would
        take several times as long under it.
        """
        if self._has_begun:
            return
        self._has_begun = True
        watch_threads(self._stage)
        if self._watcher.stays_on or not self._stage.microscope.can_look:
            self._watcher.begin()
        else:
            self._stage.microscope.before_next.append(self._watcher.begin)

    def after_step(self) -> None:
        """Stop watching after a step; watch one batch again if the one in its place was lost an epoch ago."""
        if not self._watcher.stays_on:
            self._goes_on = self._goes_on and self._watcher.is_on
            if not self._goes_on:
                self._watcher.end()
            self._follow_batches()

    def lost_one(self) -> None:
        """An iteration came to nothing before its update: watch for the next one, as long as a trace function may."""
        if not self._watcher.stays_on and self._has_begun and self._windows < MOST_WINDOWS:
            self._windows += 1
            self._goes_on = True
            self._watcher.begin()

    @property
    def is_resting(self) -> bool:
        """Tell whether no single step is being watched."""
        return self._watcher.stays_on or not self._watcher.is_on

    def drew(self, before: int, now: int) -> int:
        """Take in that a step used the batches `before` to `now`; return the batch before which to ask again."""
        if not self._watcher.stays_on:
            if before > self._last_serial:
                self._steady += before - self._last_serial
                self._last_serial = before
                self._last_step = self._stage.session.sentinel.step - 1
            if now > before:
                self._follow_batches()
        return self._look_at

    def program_compiles(self) -> None:
        """Compilers look at frames, too: a trace function must not change what they see."""
        if not self._watcher.stays_on:
            self._stage.microscope.before_next.clear()
            self._watcher.end()
            self._has_begun = True

    def program_died(self, error: BaseException) -> None:
        """What was raised again, or led to the program's end, was not swallowed."""
        self._watcher.end()
        self._forget(error)

    def end(self) -> None:
        """Write what was swallowed."""
        self._watcher.end()
        steps = self._stage.session.sentinel.step
        for seen in self._seen.values():
            if seen.costs_step or not steps:
                self._stage.session.write(msgspec.structs.replace(seen.crash, times=seen.times))
        self._seen.clear()

    def leave(self) -> None:
        """Take the watcher off and forget everything; in a forked child it belongs to the parent."""
        self._watcher.end()
        self._seen.clear()

    def _follow_batches(self) -> None:
        """Notice a batch without a step in a loop that made one step of each, and wait for the next epoch."""
        batches = self._stage.session.batches
        drawn, self._last_serial = batches.serial - self._last_serial, batches.serial
        step = self._stage.session.sentinel.step
        follows, self._last_step = step == self._last_step + 1, step
        if drawn == 1 or not follows:  # steps between, at cruising speed, were of one batch each
            self._steady += 1
        elif drawn == 2 and self._steady >= STEADY and batches.length:
            self._look_at = batches.serial - 1 + batches.length
            self.lost_one()
        if self._look_at == batches.serial + 1:
            self._look_at = -1
            self._watcher.begin()

    def _arrived(self, error: BaseException, trace: TracebackType) -> None:
        """An exception has come to a frame of the user's; if it is taken there, it may be printed."""
        key = (id(trace.tb_frame.f_code), trace.tb_lineno, type(error))
        is_kind = isinstance(error, KINDS) and not isinstance(error, NOT_KINDS)
        is_watched = is_kind and key not in self._ignored
        ours = has_own_frames(trace)
        if not is_watched and not ours:
            return
        handler = handler_of(trace.tb_frame, trace.tb_lineno, error)
        if is_watched and handler is None:
            self._forget(error)
        elif is_watched and handler is not None and comes_out_of_a_step(trace):
            self._take_up(error, trace, costs_step=costs_step(handler))
        elif is_watched and len(self._ignored) < MOST_TIMES:
            self._ignored.add(key)
        if ours and handler is not None:
            # The first entry is the user's own; the interpreter holds on to it, so the rest is changed in place.
            trace.tb_next = without_own_frames(trace.tb_next)

    def _take_up(self, error: BaseException, trace: TracebackType, *, costs_step: bool) -> None:
        self._forget(error)
        place = (trace.tb_frame.f_code.co_filename, trace.tb_lineno, type(error).__name__)
        known = self._seen.get(place)
        if known is None:
            crash = post_mortem(self._stage, error, frames_of(trace), caught=True)
            if crash.raised_by != "torch":
                return
            known = self._seen[place] = CaughtAt(crash, costs_step, times=0)
        known.times += 1
        vars(error)[MARK] = place
        if known.times >= MOST_TIMES and not self._watcher.stays_on:
            self._watcher.end()

    def _forget(self, error: BaseException) -> None:
        """Take back an exception that travels on after all: it, or what it was turned into."""
        for one in (error, error.__cause__, error.__context__):
            place = vars(one).pop(MARK, None) if one is not None else None
            if place in self._seen:
                self._seen[place].times -= 1
                if not self._seen[place].times:
                    del self._seen[place]


def has_own_frames(trace: TracebackType | None) -> bool:
    """Tell whether an exception came through code of ours: through the microscope."""
    while trace is not None:
        if trace.tb_frame.f_code.co_name == DISPATCH:
            return True
        trace = trace.tb_next
    return False


def handler_of(frame: FrameType, line: int, error: BaseException) -> Handler | None:
    """Return the innermost `try`/`except` or `suppress` around a line that will take the exception."""
    scope = scope_of(frame.f_code)
    for handler in handlers_around(scope, line) if scope is not None else ():
        if handler.kinds is None or _takes(handler.kinds, frame, error):
            return handler
    return None


def _takes(kinds: list[Expression], frame: FrameType, error: BaseException) -> bool:
    for kind in kinds:
        try:
            value = Lookup(frame).value(kind)
        except (Unknown, AttributeError, KeyError):
            continue
        if isinstance(value, type) and isinstance(error, value):
            return True
    return False


def comes_out_of_a_step(trace: TracebackType) -> bool:
    """Tell whether the exception was raised by an operation, a module or a backward pass."""
    last = frames_of(trace)
    if last[-1].layer == "user":
        return not last[-1].is_at_raise
    names = {frame.code.co_name for frame in last if frame.layer == "torch"}
    if names & set(NO_STEP):
        return False
    files = [frame.filename.replace("\\", "/") for frame in last if frame.layer == "torch"]
    return any(f"/torch/{part}" in file for file in files for part in STEP_FILES) or any(
        "/torchwhy/" in file for file in files
    )
