"""Explains the exception that ends the program, when the user has seen its traceback."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from torchwhy.observe.probes.loaders.loop_position import Running
from torchwhy.observe.recorder import Recorder
from torchwhy.replay.crash.caught_exceptions import CaughtExceptions
from torchwhy.replay.crash.frames.traceback_frames import TracebackFrame, frames_of, told_error
from torchwhy.replay.crash.late_post_mortem import LatePostMortem
from torchwhy.replay.nonfinite.refused_values import RefusedValues, values_refused_by
from torchwhy.replay.observing.switch import MicroscopeSwitch
from torchwhy.replay.step.rewind import Rewind


class UncaughtExceptions:
    """Writes the `Crash`, and raises the alarm if the exception complains of NaN or inf."""

    def __init__(
        self,
        post_mortem: LatePostMortem,
        caught_exceptions: CaughtExceptions,
        refused_values: RefusedValues,
        *,
        rewind: Rewind,
        switch: MicroscopeSwitch,
        recorder: Recorder,
        tell_position: Callable[[Iterable[Running]], object],
    ) -> None:
        self._switch = switch
        self._post_mortem = post_mortem
        self._caught_exceptions = caught_exceptions
        self._refused_values = refused_values
        self._rewind = rewind
        self._recorder = recorder
        self._tell_position = tell_position

    def look_later(self, error: BaseException) -> Callable[[], None] | None:
        """Take hold of the frames now; return the look at them, None if the program ended on purpose."""
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            return None
        frames, cause = frames_of(error.__traceback__), told_error(error)

        def look() -> None:
            with self._switch.eagerly():
                self._look(error, frames, cause)

        return look

    def _look(
        self, error: BaseException, frames: list[TracebackFrame], cause: BaseException
    ) -> None:
        self._caught_exceptions.program_died(error)
        bad = values_refused_by(error, frames)
        if cause is not error:
            frames = frames_of(cause.__traceback__)
        self._recorder.write(self._post_mortem.of(cause, frames))
        self._tell_position(Running(frame.live, frame.instruction) for frame in reversed(frames))
        if bad and not self._rewind.alarmed:
            self._rewind.alarmed = True
            self._refused_values.raise_alarm(bad)
