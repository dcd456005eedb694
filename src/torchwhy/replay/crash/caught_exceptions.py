"""Finds exceptions of torch that the program catches: which, where, how often, and whether they cost steps.

Only exceptions of an operation, a model's forward or a backward pass count, if the user's own code handles them so that
the step is lost: by `continue`, or by a `try` around the whole step. A fallback (`view`, else `reshape`) and what runs
once, outside of every loop, cost nothing, and are recorded only if training never gets to a step.
"""

from __future__ import annotations

from types import FrameType, TracebackType

import msgspec

from torchwhy.observe.guest import Guests
from torchwhy.observe.probes.batches import BatchKeeper
from torchwhy.observe.program.exceptions import without_own_frames
from torchwhy.observe.recorder import Recorder
from torchwhy.observe.steps.training_state import TrainingState
from torchwhy.observe.torch_features.torch_internals import (
    DEVICE_START,
    SCHEDULES_FILE,
    STEP_FILES,
)
from torchwhy.plain_data import dataclass
from torchwhy.record.crashes import Crash
from torchwhy.replay.crash.exception_watchers import watcher_for
from torchwhy.replay.crash.frames.failed_operands import DISPATCH
from torchwhy.replay.crash.frames.lookup import Lookup, Unknown
from torchwhy.replay.crash.frames.traceback_frames import frames_of
from torchwhy.replay.crash.late_post_mortem import LatePostMortem
from torchwhy.replay.crash.thread_exceptions import ThreadExceptions
from torchwhy.replay.microscope.dispatch_mode import Microscope
from torchwhy.source.analyses.handlers import (
    Handler,
    costs_step,
    handlers_around,
    tells_of_it,
)
from torchwhy.source.files import is_own, layer_of, scope_of
from torchwhy.source.scopes import loops_around
from torchwhy.source.values import Expression

# What a broken step raises. KeyError, AttributeError, NotImplementedError … are often control flow.
KINDS = (RuntimeError, ValueError, IndexError, TypeError)
NOT_KINDS = (NotImplementedError, RecursionError, UnicodeError)
NO_STEP = ("load_state_dict", "load", DEVICE_START, "to", "cuda", "__getattr__")
MOST_TIMES = 200  # occurrences at one place, after which a trace function is taken off
MARK = (
    "_torchwhy_place"  # attribute of an exception: where it was counted, in case it is raised again
)
MOST_WINDOWS = 4  # stretches of a few seconds that are watched because an iteration was lost
STEADY = 3  # steps of one batch each, after which a batch without a step is suspicious


@dataclass
class CaughtAt:
    """One place that catches: its first exception in full, and how many came."""

    crash: Crash
    costs_step: bool
    is_early: bool  # before any optimizer was made
    times: int = 1


class CaughtExceptions:
    """Watches the first step (or the whole run, if that is free), and later the batch that seems to be lost."""

    def __init__(
        self,
        post_mortem: LatePostMortem,
        threads: ThreadExceptions,
        microscope: Microscope,
        *,
        batches: BatchKeeper,
        recorder: Recorder,
        state: TrainingState,
        guests: Guests,
    ) -> None:
        self._post_mortem = post_mortem
        self._threads = threads
        self._microscope = microscope
        self._batches = batches
        self._recorder = recorder
        self._state = state
        self._guests = guests
        self._judge = guests.protect("exception watch", self._arrived)
        self._watch_early = guests.protect("exception watch", self._begin_early)
        self._watcher = watcher_for(self._reached_the_program)
        self._seen: dict[tuple[str, int, str], CaughtAt] = {}
        self._ignored: set[tuple[int, int, type]] = set()
        self._has_begun = False
        self._last_serial = 0
        self._last_step = -1
        self._steady = 0
        self._look_at = -1
        self._goes_on = False  # beyond the current step
        self._windows = 0

    def begin(self) -> None:
        """Start watching when the first optimizer is made, so that preparing data costs nothing.

        A trace function waits for the next operation: making an optimizer imports torch's compiler, which takes
        several times as long under it.
        """
        if self._has_begun:
            return
        self._end_early()
        self._has_begun = True
        self._threads.watch()
        if self._watcher.stays_on or not self._microscope.can_look:
            self._watcher.begin()
        else:
            self._microscope.before_next.append(self._watcher.begin)

    def operation_raised(self) -> None:
        """Watch up to the next operation, in a program that has made no optimizer: it may catch and print this."""
        if not self._has_begun and not self._guests.visit and not self._state.frozen:
            self._watch_early()

    def _begin_early(self) -> None:
        if self._watcher.is_on:
            return
        self._watcher.begin()
        if not self._watcher.stays_on:
            self._microscope.before_next.append(self._end_early)

    def _end_early(self) -> None:
        if not self._has_begun and not self._watcher.stays_on:
            self._watcher.end()

    def after_step(self) -> None:
        """Stop watching after a step; watch one batch again if the batch at its position was lost an epoch ago."""
        if not self._watcher.stays_on:
            self._goes_on = self._goes_on and self._watcher.is_on
            if not self._goes_on:
                self._watcher.end()
            self._follow_batches()

    def lost_one(self) -> None:
        """Watch for some seconds after an iteration that ended before its update."""
        if not self._watcher.stays_on and self._has_begun and self._windows < MOST_WINDOWS:
            self._windows += 1
            self._goes_on = True
            self._watcher.begin()

    @property
    def is_resting(self) -> bool:
        """Tell whether no trace function is on."""
        return self._watcher.stays_on or not self._watcher.is_on

    def drew(self, before: int, now: int) -> int:
        """Note that a step used the batches `before` to `now`; return the batch before which to ask again."""
        if not self._watcher.stays_on:
            if before > self._last_serial:
                self._steady += before - self._last_serial
                self._last_serial = before
                self._last_step = self._state.step - 1
            if now > before:
                self._follow_batches()
        return self._look_at

    def program_compiles(self) -> None:
        """Take a trace function off, because compilers read frames, too."""
        if not self._watcher.stays_on:
            self._microscope.before_next.clear()
            self._watcher.end()
            self._has_begun = True

    def program_died(self, error: BaseException) -> None:
        """Forget an exception that was raised again, or led to the program's end."""
        self._watcher.end()
        self._forget(error)

    def end(self) -> None:
        """Write the caught exceptions."""
        self._watcher.end()
        state = self._state
        trains = self._has_begun or state.backwards > 0 or state.step > 0
        for seen in self._seen.values():
            if (not trains) if seen.is_early else (seen.costs_step or not state.step):
                crash = msgspec.structs.replace(seen.crash, times=seen.times, untrained=not trains)
                self._recorder.write(crash)
        self._seen.clear()

    def leave(self) -> None:
        """Take the watcher off and forget everything; in a forked child, the parent has it."""
        self._watcher.end()
        self._seen.clear()

    def _follow_batches(self) -> None:
        """Notice a batch without a step in a loop of one step per batch, and wait for the next epoch."""
        batches = self._batches
        drawn, self._last_serial = batches.serial - self._last_serial, batches.serial
        step = self._state.step
        follows, self._last_step = step == self._last_step + 1, step
        if drawn == 1 or not follows:  # steps at cruising speed in between had one batch each
            self._steady += 1
        elif drawn == 2 and self._steady >= STEADY and batches.length:
            self._look_at = batches.serial - 1 + batches.length
            self.lost_one()
        if self._look_at == batches.serial + 1:
            self._look_at = -1
            self._watcher.begin()

    def _reached_the_program(self, error: BaseException, trace: TracebackType) -> None:
        """Ignore what the program raises because we run it: in an experiment, in an autopsy, in a repeated step."""
        if not self._guests.visit and not self._state.frozen:
            self._judge(error, trace)

    def _arrived(self, error: BaseException, trace: TracebackType) -> None:
        """Judge an exception that reached a frame of the user's, which may catch and print it."""
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
            if self._has_begun or tells_of_it(handler):
                costs = costs_step(handler) and runs_in_a_loop(trace.tb_frame, trace.tb_lineno)
                self._take_up(error, trace, costs_step=costs)
        elif is_watched and len(self._ignored) < MOST_TIMES:
            self._ignored.add(key)
        if ours and handler is not None:
            # The interpreter keeps the first entry, the user's own, so the rest is changed in place.
            trace.tb_next = without_own_frames(trace.tb_next)

    def _take_up(self, error: BaseException, trace: TracebackType, *, costs_step: bool) -> None:
        self._forget(error)
        place = (trace.tb_frame.f_code.co_filename, trace.tb_lineno, type(error).__name__)
        known = self._seen.get(place)
        if known is None:
            crash = self._post_mortem.of(error, frames_of(trace), caught=True)
            if crash.raised_by != "torch":
                return
            known = self._seen[place] = CaughtAt(crash, costs_step, not self._has_begun, times=0)
        known.times += 1
        vars(error)[MARK] = place
        if known.times >= MOST_TIMES and not self._watcher.stays_on:
            self._watcher.end()

    def _forget(self, error: BaseException) -> None:
        """Do not count an exception that travels on after all, itself or wrapped in another."""
        for one in (error, error.__cause__, error.__context__):
            place = vars(one).pop(MARK, None) if one is not None else None
            if place in self._seen:
                self._seen[place].times -= 1
                if not self._seen[place].times:
                    del self._seen[place]


def has_own_frames(trace: TracebackType | None) -> bool:
    """Tell whether an exception passed through code of ours: the microscope."""
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


def runs_in_a_loop(frame: FrameType, line: int) -> bool:
    """Tell whether a line may run again: in a loop of the program around it or its callers, or called by a library."""
    running: FrameType | None = frame
    while running is not None:
        layer = layer_of(running.f_code.co_filename)
        scope = scope_of(running.f_code) if layer == "user" else None
        if layer == "library" or (layer == "user" and (scope is None or loops_around(scope, line))):
            return True
        is_main = running.f_globals.get("__name__") == "__main__"
        running = None if is_main and running.f_code.co_name == "<module>" else running.f_back
        line = running.f_lineno if running is not None else 0
    return False


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
    """Tell whether an operation, a module or a backward pass raised the exception."""
    last = frames_of(trace)
    if last[-1].layer == "user":
        return not last[-1].is_at_raise
    names = {frame.code.co_name for frame in last if frame.layer == "torch"}
    if names & set(NO_STEP):
        return False
    files = [frame.filename for frame in last if frame.layer == "torch"]
    if any(map(is_own, files)):
        return True
    slashed = [file.replace("\\", "/") for file in files]
    if slashed and slashed[-1].endswith(SCHEDULES_FILE):
        return False  # The update of this step has been made.
    return any(f"/torch/{part}" in file for file in slashed for part in STEP_FILES)
