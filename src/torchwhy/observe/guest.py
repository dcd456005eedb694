"""We are guests in the user's process: a probe of ours that fails is switched off, noted once, and training goes on."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from time import thread_time
from typing import Any, TypeVar

from torchwhy.observe.devices.device_failures import is_of_device
from torchwhy.observe.native.records import GuestsRecord
from torchwhy.observe.program.frames import calling_span
from torchwhy.observe.torch_features.mode_stack import (
    DisableTorchFunction,
    dispatch_depth,
    function_depth,
    is_profiling,
    unseen,
)
from torchwhy.observe.torch_features.resolve import is_there, missing, missing_names
from torchwhy.record.events import Event, MissingFeature, ProbeFailed

__tracebackhide__ = True  # pytest leaves frames of this module out of a test's traceback
Result = TypeVar("Result")
TIMED = 8  # Of what runs at every step, one in so many is timed for all: between torch's kernels the clock takes 4 µs.


class ProgramStop(SystemExit):
    """Ends the program from inside a probe; guests turn it into what the program is to see."""

    def __init__(self) -> None:
        super().__init__(1)


class Guests(GuestsRecord):
    """Knows which probes still run. `fault` lets a test break a probe on purpose by its name.

    While a probe runs, modes and tensor subclasses of the program do not see what it does.
    """

    def __init__(self, write: Callable[[Event], None]) -> None:
        self._write = write
        self.switched_off: set[str] = set()
        self.fault: str | None = None
        self._device_failed = False
        self.all_off = False
        self.seconds = 0.0  # spent in probes that look thoroughly
        self.light_seconds = 0.0  # spent in the few that run at every step
        self._is_timing = False
        self.moment = 0  # counts visits of the program in which nothing of it changes
        self.left_out: dict[str, list[str]] = {}  # probes by the feature that they lack
        # Makes the exception that the program sees at its first stop; None for what `sys.exit(1)` raises.
        self.stops_with: Callable[[], Exception] | None = None

    @property
    def visit(self) -> int:
        """Return the number of the visit that is going on, 0 outside of one."""
        return self.moment if self._is_timing else 0

    def may_run(self, probe: str, needs: Iterable[str]) -> bool:
        """Tell whether torch and Python have the features that a probe needs; else it is left out, and noted."""
        lacking = [name for name in needs if not is_there(name)]
        for name in lacking:
            self.left_out.setdefault(name, []).append(probe)
        return not lacking

    def lacks(self, probe: str) -> bool:
        """Tell whether a probe was left out."""
        return any(probe in probes for probes in self.left_out.values())

    def missing_features(self) -> list[MissingFeature]:
        """Return what this torch and this Python lack, as the trace tells it."""
        return [
            MissingFeature(
                feature=one.name,
                names=missing_names(one),
                lost=one.lost,
                left_out=self.left_out.get(one.name, []),
                only_time=one.only_time,
            )
            for one in missing()
            if one.of_recording
        ]

    def protect(
        self, name: str, function: Callable[..., Result], *, computes: bool = True
    ) -> Callable[..., Result | None]:
        """Return `function` made safe: it returns None after its first failure, and ever after.

        One that `computes` nothing, but asks tensors for their shapes at most, need not be hidden from modes.
        """
        quietly = unseen(function) if computes else _unfollowed(function)

        @functools.wraps(function)
        def safe(*args: object, **kwargs: object) -> Result | None:
            if self.all_off or name in self.switched_off:
                return None
            outermost, self._is_timing = not self._is_timing, True
            began = 0.0
            if outermost:
                self.moment += 1
                began = thread_time()
            try:
                if self.fault == name:
                    _break()
                return quietly(*args, **kwargs)
            except ProgramStop:
                if outermost:
                    raise self._stop() from None
                raise
            except Exception as problem:
                self.switch_off(name, problem)
                return None
            finally:
                if outermost:
                    self._is_timing = False
                    self.seconds += thread_time() - began

        return safe

    def _stop(self) -> BaseException:
        """Return what the program is to see; one that catches it and trains on gets what `sys.exit` raises."""
        if self.stops_with is None:
            return SystemExit(1)
        error, self.stops_with = self.stops_with(), None
        return error

    def lightly(
        self, name: str, function: Callable[[Any, Any], Result]
    ) -> Callable[[Any, Any], Result | None]:
        """Return what `protect` returns, for a function of two arguments that runs at every step."""
        thoroughly = self.protect(name, function)
        calls = 0

        def light(first: Any, second: Any) -> Result | None:
            nonlocal calls
            if (
                self.all_off
                or self.switched_off
                or self.fault
                or dispatch_depth()
                or function_depth()
                or is_profiling()
            ):
                return thoroughly(first, second)
            calls += 1
            is_timed = calls % TIMED == 0
            began = thread_time() if is_timed else 0.0
            try:
                return function(first, second)
            except Exception as problem:
                self.switch_off(name, problem)
                return None
            finally:
                if is_timed:
                    self.light_seconds += TIMED * (thread_time() - began)

        return light

    def switch_off(self, name: str, problem: BaseException) -> None:
        """Note once why a probe stopped."""
        if name in self.switched_off:
            return
        self.switched_off.add(name)
        of_device = is_of_device(problem)
        if of_device and self._device_failed:
            return  # every probe that reads from it will fail
        self._device_failed = of_device
        last = traceback.extract_tb(problem.__traceback__)[-1:]
        place = f" at {last[0].name}:{last[0].lineno}" if last else ""
        said = (str(problem).splitlines() or [""])[0]  # torch lists all its backends below
        with suppress(Exception):  # a full disk must not stop training either
            self._write(
                ProbeFailed(
                    probe=name,
                    reason=f"{type(problem).__name__}: {said}{place}",
                    noticed_at=calling_span() if of_device else None,
                )
            )


def _unfollowed(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return `function` made invisible to tensor subclasses of the program, not to modes."""

    def followed_by_none(*args: object) -> Result:
        with DisableTorchFunction():
            return function(*args)

    return followed_by_none


def _break() -> None:
    raise RuntimeError("a fault injected by a test")
